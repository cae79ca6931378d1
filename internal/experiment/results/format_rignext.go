//go:build rignext

package results

// Format is the format of a future krund, which reads today's records. It is only for a test build
// for the rig (rig/README.md).
const Format = 2
