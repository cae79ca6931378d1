// Package durable is the file layer that survives a power cut.
//
// Everything that krund must still know after a power cut goes through an [FS]: the schedule, the
// results, the journal of settings. The interface is small, so that a simulation (package crashfs)
// can replace the disk and cut the power between any two of its calls.
//
// User files are different: [WriteUserFile] and [OpenUserFile] treat existing files like cp and the
// shell do, and never replace a device or block on one. [PackedInput] bounds the size of a
// decompressed file.
//
// The layer guarantees the following, and nothing more:
//
//   - Bytes written to a file, and its size, are volatile until [File].Sync
//     has returned nil. Before that any part of them may survive, in any order.
//   - A name made, renamed or removed is volatile until [FS].SyncDir of its
//     directory has returned nil. Syncing a file does not make its name durable.
//   - After Sync has failed nothing is known about what was written since the
//     last success: write it again before the next Sync. A kernel may report an
//     error once and then forget the pages it could not write.
//
// [WriteFile] and [WriteTo] perform the steps for a complete file: write a temporary file in the
// same directory, sync it, rename it, sync the directory. Readers see the old content or the new
// one, never a mixture.
//
// The package never retries, never logs, and has no state.
//
// Start reading at FS and WriteFile.
package durable
