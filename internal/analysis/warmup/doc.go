// Package warmup analyzes a whole experiment: outliers, changepoints, classification and steady
// state of every process execution, and their combination for each pair. It runs the packages
// beside it in the order that package analysis describes.
//
// [Analyze] turns a dataset.Dataset into a [Document], which is the file analysis.json (specified
// in docs/analysis.md) and the basis of every report. Results depend only on the data and the
// [Parameters]: not on the number of workers or on earlier analyses. Start reading at [Analyze].
package warmup
