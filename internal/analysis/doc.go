// Package analysis contains the statistics packages: pure functions over slices of measured
// iterations, which read no file and no clock.
//
// The study's pipeline for one process execution uses the packages in this order:
//
//  1. outlier.Find detects iterations far from their neighbors, and outlier.Remove removes them.
//  2. changepoint.Detect divides the remaining series into segments, with the arithmetic of package
//     arith.
//  3. classify.Rule.Classify assigns a class: flat, warmup, slowdown or no steady state.
//  4. steady.Of determines the beginning of the steady state and its iterations.
//  5. For a pair, classify.Count and arith.SpreadOf combine its executions, and bootstrap
//     computes the steady-state performance with its confidence interval.
//
// Package warmup runs the pipeline over a whole experiment. Start reading there.
//
// Three packages answer further questions about the same series: stability.Of determines where
// dynamic reconfiguration would have stopped, similarity.Of whether the executions of a pair
// resemble each other, and optimize.Optimize the smallest numbers of executions and iterations with
// a result as stable.
//
// The tests of this package compare the pipeline with the study's own tools (warmup_stats 41212e0
// with R 4.2.2 and changepoint 2.3) on the series in testdata/synthetic.json.gz, and on the
// directory in KRUND_FIXTURES if it is set.
package analysis
