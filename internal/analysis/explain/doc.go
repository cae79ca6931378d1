// Package explain names causes of outliers and changepoints when there is evidence: what the VM,
// the kernel and the processor did in the same iterations.
//
// [Explain] takes the series of an experiment with all columns and events, and its analysis
// (package warmup). It looks for features of the evidence (an event in the iteration, an
// extraordinary count, an event near a changepoint, the last compilation of a burst, a change of a
// column's level) that occur at the outliers and changepoints of a key more often than by chance.
//
// # The test
//
// Chance is what remains when events and columns are shifted against the series, around its end, by
// the same number of iterations for all evidence of an execution. Shifts keep the order and the
// clusters of the events, so that a burst is no evidence only because it is a burst. With one
// execution all n shifts are compared; with several, Draws random combinations of one shift for
// each. A candidate is a feature of a source at outliers or at changepoints. Its score is the
// deviance of the number of hits, over all executions, from the larger of the mean over all shifts
// and the mean over slight shifts, and 0 for an effect too small to be named. All candidates of a
// key, for outliers and changepoints, are one family: the corrected p of a candidate is the share
// of the shifts in which any candidate reaches its score (Westfall and Young 1993, single step).
// The score and not the p-value is compared, because causes that recur make shifts coincide: for a
// garbage collection in every 50th iteration p cannot be below 1/50 with one execution
// (Candidate.Smallest), but no other candidate reaches the score of a cause that explains 40
// outliers. With two executions it is 1/2500.
//
// Statements are found one after the other. The candidate with the highest score becomes a
// statement, or one whose cause brings about others and that explains nearly the same; the targets
// that it hits are explained; the remaining targets are tested again. A single outlier or
// changepoint gets a cause only through such a statement about its key.
//
// # Error rate
//
// If the evidence of each execution is independent of its series except for order, so that every
// shift was equally probable, the probability that a key gets any statement is at most Alpha. The
// tests after the first statement are each at level Alpha, given the targets that are left. Shifts
// move the beginning of a series to its end: where both the evidence and the changepoints are
// concentrated at the beginning without a common cause, the comparison with slight shifts protects,
// not the shift test. The statement is an association in time, which a randomized experiment (the
// cause switched off) can confirm.
package explain
