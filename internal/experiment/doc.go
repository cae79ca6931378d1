// Package experiment reads what krunctl's commands name: an experiment of krund, by its directory
// NAME.krun or its configuration NAME.toml, or a file of results of another tool.
//
// It gives the schedule, the configuration, the keys and the records of an experiment, the dataset
// that the analysis takes (whatever it comes from), and the analysis that belongs to it. It
// computes no statistics and prints nothing. Start reading at Open and Reader.
package experiment
