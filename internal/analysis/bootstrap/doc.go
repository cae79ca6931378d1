// Package bootstrap gives the steady performance of a pair: a mean with a confidence interval, by
// resampling iterations within steady segments.
//
// What is resampled (section 4.4 of the study; warmup_stats' bootstrapper.py): an execution's
// steady state is a list of segments; one resample of the execution draws from each segment as many
// values as it has, uniformly and with replacement, never from one segment into another, and takes
// the mean of all of them. Every execution is resampled equally often, floor(100000/executions)+1
// times.
//
// Two ways to combine executions ([Scheme]):
//
//   - [Pooled], the study's: the resampled means of all executions are thrown
//     together; the median is reported, with half the distance between the
//     0.5th and the 99.5th percentile. The interval is where the mean of ONE
//     execution would lie, so it does not get narrower with more executions.
//   - [Nested]: executions are resampled as well: as many as there are, with
//     replacement, each with one of its resampled means, are averaged. The
//     interval is for the mean over executions.
//
// Results depend on the seed and the data only, not on the number of workers: the draws of resample
// r of execution e come from a generator keyed by (seed, e, r). Indexes are exactly uniform: see
// drawer.
package bootstrap
