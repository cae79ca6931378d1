// Package changepoint cuts a series into segments within which its values look alike, by PELT
// (Killick, Fearnhead and Eckley 2012).
//
// A segmentation minimises
//
//	sum over segments of C(segment) + penalty × number of changepoints
//
// and PELT finds the minimum by the recursion
//
//	F(t) = min over s of F(s) + C(s, t) + penalty,   F(0) = −penalty
//
// dropping a candidate s for good at the first t where F(s)+C(s,t) > F(t). A segment (s, t] holds
// the values with indexes s to t−1.
//
// [Detect] is the door: a series and [Options] in, a [Segmentation] out. With the default options
// it gives exactly what R's changepoint::cpt.meanvar(x, method="PELT", penalty="Manual",
// pen.value=15*log(n)) gives (versions 2.2.2 and 2.3, whose recursion is the same), including what
// follows from R's arithmetic and shortcuts:
//
//   - prefix sums are accumulated in 80-bit long double and rounded to double
//     (package arith), and C is computed from their differences, so that a
//     large mean with a small spread is decided by rounding;
//   - a variance of zero or less becomes 1e-11, whatever the unit of the data:
//     next to noise of a standard deviation below 3.2e-6 a constant stretch
//     costs more than its surroundings, next to larger noise less;
//   - a candidate is pruned at once although with a minimum segment length
//     above 1 it could still be best at the very next t;
//   - of equally good candidates the earliest wins;
//   - fewer than two minimum segment lengths of data are refused.
//
// [Stable] arithmetic has none of these properties: see [Arithmetic].
//
// The recursion as R writes it (peltPlain, in the tests) keeps nearly all candidates when there are
// no changes, which takes quadratic time. peltGrouped returns the same F and the same segments
// without looking at most of them: see its comment for the inequality it uses.
package changepoint
