//go:build rignext

package results

// Format is, in a test build for the rig only (rig/README.md), that of a krund
// to come, which reads the records of today's.
const Format = 2
