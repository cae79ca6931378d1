// Package config turns an experiment's TOML text into an immutable Config.
//
// Start at [Parse]: it decodes the text, merges the sections of the machine that it is for, reads
// every key with its type, range and default (schema.go), and checks the sections against each
// other (check.go). Parse accesses no files; [Load] also checks those that the text names.
//
// All mistakes are reported at once, each with its line. The TOML library reports lines only for
// syntax errors, so the text is scanned a second time to find the line of each key (locate.go). All
// problems are collected into one [Errors], in file order.
//
// The package never measures, changes or starts anything. Start reading at [Load].
package config
