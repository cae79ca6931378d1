// Package changepoint divides a series into segments of homogeneous values with PELT (Killick,
// Fearnhead and Eckley 2012).
//
// A segmentation minimizes
//
//	sum over segments of C(segment) + penalty × number of changepoints
//
// and PELT finds the minimum by the recursion
//
//	F(t) = min over s of F(s) + C(s, t) + penalty,   F(0) = −penalty
//
// and pruning a candidate s permanently at the first t where F(s)+C(s,t) > F(t). A segment (s, t]
// holds the values with indexes s to t−1.
//
// [Detect] is the entry point: it turns a series and [Options] into a [Segmentation]. With the
// default options it gives exactly the result of R's changepoint::cpt.meanvar(x, method="PELT",
// penalty="Manual", pen.value=15*log(n)) (versions 2.2.2 and 2.3, whose recursion is the same),
// including the consequences of R's arithmetic and shortcuts:
//
//   - prefix sums are accumulated in 80-bit long double and rounded to double (package arith), and
//     C is computed from their differences, so that rounding decides when a large mean has a
//     small spread;
//   - a variance of zero or less becomes 1e-11 in any unit: next to noise with a standard
//     deviation below 3.2e-6 a constant stretch costs more than its surroundings, next to larger
//     noise less;
//   - a candidate is pruned immediately, although with a minimum segment length above 1 it could
//     still be optimal at the very next t;
//   - of equally good candidates the earliest wins;
//   - series shorter than two minimum segment lengths are rejected.
//
// [Stable] arithmetic has none of these properties: see [Arithmetic].
//
// The recursion as R writes it (peltPlain, in the tests) keeps nearly all candidates when there are
// no changes, which takes quadratic time. peltGrouped returns the same F and the same segments
// without evaluating most of them: its comment gives the inequality it uses. Start reading at
// [Detect].
package changepoint
