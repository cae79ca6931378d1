// Package benchmarks holds the programs of the warmup study, each in several
// languages: NAME/LANGUAGE/bench.EXT. README.md lists parameters and checksums.
// There is no Go code but the test that all languages compute the same.
package benchmarks
