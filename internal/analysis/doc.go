// Package analysis is a directory of packages that turn measured iterations into
// statements: pure functions over slices, which read no file and no clock.
//
// The study's pipeline for one process execution, with the packages in the
// order of their use:
//
//  1. outlier.Find marks the iterations far from their neighbours, and
//     outlier.Remove takes them out;
//  2. changepoint.Detect cuts what is left into segments, with the arithmetic
//     of package arith;
//  3. classify.Rule.Classify says flat, warmup, slowdown or no steady state;
//  4. steady.Of says when the steady state began and which iterations are in
//     it;
//  5. for a pair, classify.Count and quantile.SpreadOf combine its executions,
//     and bootstrap gives the steady performance with its confidence interval.
//
// Package warmup runs all of it over a whole experiment.
//
// Three further questions to the same series: stability.Of says where dynamic
// reconfiguration would have stopped, similarity.Of whether the executions of a
// pair resemble each other, and optimize.Optimize with how few executions and
// iterations the result would have been as stable.
//
// The tests of this package compare the pipeline with the study's own tools
// (warmup_stats 41212e0 with R 4.2.2 and changepoint 2.3) on the series in
// testdata/synthetic.json.gz, and on the directory named by KRUND_FIXTURES where
// there is one.
package analysis
