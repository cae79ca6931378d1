//go:build !slow

package bisect

const simulated = 200 // bisections; see slow_test.go
