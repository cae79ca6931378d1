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
// A candidate is a feature of a source at outliers or at changepoints. Its score is the deviance of
// its hits, over all executions, from their mean by chance, and 0 for an effect too small to be
// named. All candidates of a key, for outliers and changepoints, are one family: the corrected p of
// a candidate is the share of the comparisons in which any candidate reaches its excess, the hits
// above the mean in standard deviations, both of the comparison (Westfall and Young 1993, single
// step). Studentizing keeps candidates whose hits vary much by chance from hiding the others. There
// are two comparisons, because both events and changepoints are frequent at the beginning of a
// process:
//
//   - The lags. All evidence of all executions is shifted by the same number of iterations, up to
//     100, and early iterations by less: in proportion to their number. This keeps the order and
//     the clusters of the events, and what changes slowly on the scale of these shifts, or in
//     proportion to the number of the iteration. With all executions shifted alike, 30 executions
//     that do the same in the same iteration are one coincidence and not 30. The p of such a linear
//     shift is a rank (Harris 2021, "Nonsense correlations in neuroscience").
//   - The exchange, from five executions on. Each execution gets the evidence of another one. This
//     keeps everything that the executions have in common, however quickly it changes, and is exact
//     if they are exchangeable (trial shuffling; Harris' session permutation; Albert, Bouret,
//     Fromont and Reynaud-Bouret 2016). It cannot see a cause that comes in the same iteration of
//     all executions.
//
// A candidate needs one of them, with four fifths of the error rate for the lags and one fifth for
// the exchange; with fewer executions the lags have all of it. The excess and not the p-value is
// compared within a family, because the p of a single candidate cannot be below 1/201.
//
// Both find what comes in the same bursts as outliers, without being in the same iterations. So a
// candidate at outliers is a cause only if it is not as frequent in the iterations around them: see
// inBursts. Else the statement says that it comes in the same bursts.
//
// Statements are found one after the other. The candidate with the highest score becomes a
// statement, or one whose cause brings about others and that explains nearly the same; the targets
// that it hits are explained; the remaining targets are tested again. A single outlier or
// changepoint gets a cause only through such a statement about its key.
//
// # Error rate
//
// The probability that a key gets any statement is at most Alpha if its evidence has nothing to do
// with its series, and if besides either every lag is equally probable (for the lags) or the
// executions are exchangeable (for the exchange). The tests after the first statement are each at
// level Alpha, given the targets that are left. The lags presume that how frequent events and
// targets are changes little within 100 iterations, or at the beginning within the distance to the
// start; Amarasingham, Harrison, Hatsopoulos and Geman 2012 discuss such nulls of limited
// resolution. The statement is an association in time, which a randomized experiment (the cause
// switched off) can confirm. Start reading at [OfKey].
package explain
