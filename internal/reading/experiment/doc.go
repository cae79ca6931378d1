// Package experiment opens the arguments of krunctl's commands: an experiment of krund, named by
// its directory NAME.krun or its configuration NAME.toml, or a results file of another tool.
//
// It provides the schedule, the configuration, the keys and the records of an experiment, the
// dataset for the analysis (from any source), and the stored analysis. It computes no statistics
// and prints nothing. Start reading at Open and Reader.
package experiment
