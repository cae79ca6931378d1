//go:build slow

package sequential

const simulated = 5000 // bisections, for the figures of docs/bisect.md: `make history-bench`
