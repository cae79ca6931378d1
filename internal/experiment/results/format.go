//go:build !rignext

package results

// Format is the number of the record format that this package writes, and the highest one that it
// reads.
const Format = 1
