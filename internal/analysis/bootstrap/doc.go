// Package bootstrap computes the steady-state performance of a pair, a mean with a confidence
// interval, by resampling iterations within steady segments.
//
// The resampling follows section 4.4 of the study (warmup_stats' bootstrapper.py). An execution's
// steady state is a list of segments. One resample of the execution draws from each segment as many
// values as it has, uniformly and with replacement, never across segments, and takes the mean of
// all of them. Every execution is resampled equally often, floor(100000/executions)+1 times.
//
// Executions are combined in one of two ways ([Scheme]):
//
//   - [Pooled], the study's: the resampled means of all executions are pooled. The result is their
//     median with half the distance between the 0.5th and the 99.5th percentile. The interval
//     covers the mean of ONE execution, so it does not get narrower with more executions.
//   - [Nested]: executions are resampled as well. As many executions as there are are drawn with
//     replacement, and one resampled mean of each is averaged. The interval is for the mean over
//     executions.
//
// The resampled means of a long execution are drawn from their distribution, which newDistribution
// computes from the values; those of others value by value.
//
// Results depend only on the seed and the data, not on the number of workers: the draws of resample
// r of execution e come from a generator keyed by (seed, e, r). Indexes are exactly uniform: see
// drawer. Start reading at [NewHierarchy].
package bootstrap
