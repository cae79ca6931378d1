// Package report presents an analysis to readers: as tables in six formats, plots, and a directory
// of HTML pages.
//
// It computes no results: classes, intervals and warnings come from the analysis document (package
// warmup) and from the facts in the records. It only chooses ranges of axes and bins of histograms.
//
// Start reading at [Rows], the values of the study's Table 2, which every table format writes, and
// at [NewRun], the geometry of a run-sequence plot. It has two renderers: [Figure] for SVG, PDF and
// PNG, and assets/plots.js, which is interactive, for browsers. [Site] writes the pages.
//
// All content of files (names of benchmarks, messages of kernels) is treated as text: HTML and
// LaTeX are escaped by context.
package report
