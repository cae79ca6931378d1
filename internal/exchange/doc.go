// Package exchange reads and writes the files of other tools. What is read becomes a dataset
// (package analysis/dataset). Each file here is named after a format.
//
// A reader keeps what it reads exactly: integers stay integers, times keep
// their digits. It refuses a file that is not of its format with the place and
// the reason; what is merely bad data (a crashed execution, a NaN) is kept, for
// the analysis to report.
package exchange
