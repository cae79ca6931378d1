// Package arith implements arithmetic that gives identical bits on every processor.
//
// The study's changepoints come from R. On difficult series (constant runs of a coarse clock, large
// means with small spread) R's answer depends on how its sums are rounded: R accumulates in the
// 80-bit "long double" of x87 and rounds each prefix to a double. [Extended] implements that format
// in integer arithmetic, so that arm64, riscv64 and amd64 all reproduce the answer. [CumSum] and
// [CumSumSquares] are R's cumsum(x) and cumsum(x^2).
//
// [Log] is a natural logarithm that depends neither on the processor nor on the system's libm. It
// is correctly rounded except for about one argument in 100,000.
//
// On some processors Go may fuse x*y+z into one rounding. This package and the packages that use it
// write float64(x*y)+z, which prevents fusing, and math.FMA where a single rounding is intended.
// Start reading at [Log].
package arith
