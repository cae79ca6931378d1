// Package report turns an analysis into what people read: tables in six formats, plots, and a
// directory of HTML pages.
//
// It computes nothing that a reader could take for a result: classes, intervals and warnings come
// from the analysis document (package warmup) and the facts in the records. What it makes up are
// ranges of axes and bins of histograms.
//
// Start with [Rows], the study's Table 2 as values, which every table format writes, and with
// [NewRun], the geometry of a run-sequence plot. There are two renderers of it: [Figure] for SVG,
// PDF and PNG, and assets/plots.js, which is interactive, for browsers. [Site] writes the pages.
//
// Everything that comes from files (names of benchmarks, messages of kernels) is text: HTML and
// LaTeX are escaped by context.
package report
