// Package warmup analyses a whole experiment: outliers, changepoints, classification and steady
// state of every process execution, and what the executions of a pair have in common. It runs the
// packages beside it in the order that package analysis describes.
//
// [Analyze] turns a dataset.Dataset into a [Document], which is the file analysis.json
// (docs/analysis.md specifies it) and everything a report needs. Results depend on the data and the
// [Parameters] alone: not on the number of workers, not on what was analyzed before.
package warmup
