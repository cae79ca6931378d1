// Package config turns an experiment's TOML text into an immutable Config.
//
// Start at [Parse]: it decodes the text, merges the sections of the machine
// it is for, reads every key with its type, range and default (schema.go) and
// checks what the parts say about each other (check.go). Parse looks at no
// file; [Config.CheckFiles] does, and [Load] is both.
//
// Whoever writes a configuration wants to hear of every mistake at once, with
// its line. The TOML library gives lines for broken syntax only, so the text
// is scanned a second time for the line of each key (locate.go), and all
// problems are collected into one [Errors] in the order of the file.
//
// The package never measures, changes or starts anything.
package config
