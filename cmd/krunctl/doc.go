// Krunctl plans, watches, reads, checks and repairs experiments of krund. It does not measure by
// itself, except in check --prove; and only the commands whose help says so change anything.
//
// Start at run in main.go. Each subcommand is a file of its own, with its flags, its help text, one
// call and what it prints. The work is done elsewhere: package experiment reads what the arguments
// name, packages summary and analysis make documents of it, package report makes tables, and
// package exchange the files of other tools. Standard output is for data, standard error for
// messages.
package main
