//go:build !slow

package sequential

const simulated = 200 // bisections; see slow_test.go
