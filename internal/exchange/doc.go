// Package exchange reads and writes the file formats of other tools. Readers return a dataset
// (package analysis/dataset). Each source file is named after a format.
//
// A reader preserves values exactly: integers stay integers, times keep their digits. It rejects a
// file of another format with the position and the reason. Bad data in a valid file (a crashed
// execution, a NaN) is kept, for the analysis to report. Start reading at [ReadFile].
package exchange
