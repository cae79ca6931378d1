// Krunctl is what a person types to plan, watch, read, check and mend an
// experiment of krund. It never measures, and only the commands that say so
// change anything.
//
// Start at run in main.go. Each subcommand is a file of its own, with its
// options, its help text and its work; what several share is in app.go,
// experiment.go, table.go and text.go. Standard output is data, standard error
// is talk.
package main
