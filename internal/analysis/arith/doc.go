// Package arith is arithmetic that gives the same bits on every processor.
//
// The study's changepoints come from R, and R's answer on difficult series (constant runs of a
// coarse clock, large means with small spread) is made of the rounding of its sums: R accumulates
// in the 80-bit "long double" of x87 and rounds each prefix to a double. [Extended] is that format
// in integer arithmetic, so that arm64, riscv64 and amd64 all reproduce the answer; [CumSum] and
// [CumSumSquares] are R's cumsum(x) and cumsum(x^2).
//
// [Log] is a natural logarithm that does not depend on the processor or on the libm of the system,
// and is correctly rounded but for about one argument in a hundred thousand.
//
// Go may fuse x*y+z into one rounding on some processors. Everything here (and in the packages
// above) writes float64(x*y)+z, which forbids it, and math.FMA where one rounding is meant.
package arith
