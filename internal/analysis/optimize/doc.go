// Package optimize finds the least repetition of a benchmark whose result is as
// stable as is wanted: µOpTime (Japke, Grambow, Laaber and Bermbach, "µOpTime:
// Statically Reducing the Execution Time of Microbenchmark Suites Using
// Stability Metrics", TOSEM 2025), as its authors' program computes it.
//
// A full experiment repeats each benchmark on a few levels, outermost first:
// executions and iterations of krund; suite runs, iterations and seconds of the
// paper's Go study. In order of use:
//
//  1. A Suite holds the measured values, each with its position on every level
//     (FromDataset makes one of an experiment).
//  2. A candidate is a number of repetitions for each level. Its data are the
//     values at positions not beyond it: what a shorter experiment would have
//     measured. Candidates of fewer than 3 repetitions are left out (a level of
//     duration does not count).
//  3. A candidate is stable when its Metric is below the threshold. Of the
//     stable ones the one that takes the least time is chosen; of several, that
//     with the smallest metric, then the first in the order of enumeration,
//     which is lexicographic. When none is, the full configuration is.
//  4. Optimize does that for every benchmark, and says how far the chosen result
//     is from the full one; Saved adds it up, also for baselines.
//  5. Versions applies the choice of one version of a program to later ones,
//     and counts the performance changes that then are missed or made up.
//
// With values x of number n, mean m and median d, B resamples of n values
// drawn uniformly and with replacement, and Q_p the p-quantile (R's type 7) over
// the resamples:
//
//	CV    = sqrt(sum (x-m)^2 / n) / m
//	RMAD  = median |x-d| / d
//	RCIW1 = (Q_99.5%(m*) - Q_0.5%(m*)) / m
//	RCIW2 = (Q_99.5%(t*) - Q_0.5%(t*)) s/sqrt(n) / m,  t* = (m*-m) / (s*/sqrt(n))
//	RCIW3 = (Q_99.5%(d*) - Q_0.5%(d*)) / d
//
// s and s* are standard deviations with n-1. The result of a configuration is the
// mean (CV, RCIW1, RCIW2) or the median (RMAD, RCIW3), with the interval between
// these quantiles (that of t*: m - Q s/sqrt(n)).
//
// Deviations from the authors' program, all of which Options.Published turns
// off: RCIW3 is the paper's definition (the program divides the width of RCIW1
// by the median); RCIW2 needs 5 values and draws resamples of equal values again
// (the program calls their s* 1e-6, which depends on the unit and makes the
// interval explode); changes count in both directions (the program counts slower
// ones only). The random numbers are not the authors'.
//
// Nothing here depends on the number of workers: the draws of a candidate come
// from a generator keyed by seed, benchmark and candidate.
package optimize
