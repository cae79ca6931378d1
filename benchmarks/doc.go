// Package benchmarks contains the programs of the warmup study, each in several languages:
// NAME/LANGUAGE/bench.EXT. README.md lists parameters and checksums. The only Go code is the test
// that all languages compute the same.
package benchmarks
