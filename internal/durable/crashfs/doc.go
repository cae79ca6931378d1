// Package crashfs is an in-memory file system whose power can be cut: test support for everything
// built on package durable.
//
// It is as hostile as POSIX allows. What a program sees is volatile; a cut preserves only what was
// promised:
//
//   - Content and size of a file become durable with [durable.File].Sync. Until
//     then each 512-byte sector and the size survive or not on their own, in
//     any order; a sector that was written twice may come back as the first
//     write left it. A size that survives without its sectors shows zeros or
//     rubbish.
//   - Names become durable with [durable.FS].SyncDir of their directory. Until then
//     each creation, renaming and removal survives or not on its own. A file
//     whose name survives and whose content was never synced is empty: the
//     zero-length file that a rename without fsync leaves behind.
//   - A Sync that fails leaves what it should have written in limbo: later Syncs
//     succeed without writing it, as kernels do that report an error once.
//   - A rename is atomic, and a sector is torn only under [Torn].
//
// # Operations
//
// Operations that change something are numbered from 1: creating or truncating in OpenFile, Write,
// WriteAt, Sync, Mkdir, Rename, Remove, SyncDir. Reads are not numbered. The same calls always get
// the same numbers. [FS.Log] lists them.
//
// # Cutting the power
//
// [FS.CrashAt] cuts the power in the middle of an operation: the operation fails with
// [ErrPowerCut], its effect may or may not survive, and every later operation fails as well.
// [FS.PanicAt] panics instead, for code that would act on the error; [Run] converts that panic into
// the error. [FS.Reboot] then returns the file system that the machine finds afterwards, according
// to a [Policy]: [Nothing], [Everything], [Names], [Contents], [Random], [Torn]. It can be called
// repeatedly for the same cut. [FS.Survivor] returns the same without cutting the power.
//
//	fsys := crashfs.New("/x")
//	fsys.CrashAt(17)
//	err := program(fsys)                // ends with ErrPowerCut
//	after := fsys.Reboot(crashfs.Random(1))
//	err = program(after)                // continues
//
// [EveryCut] does this for every operation of a program and several policies:
//
//	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(1)...) {
//		if err := check(after); err != nil {
//			t.Errorf("%s: %v", cut, err)
//		}
//	}
//
// # Faults
//
// [FS.Inject] makes operations fail: once or permanently, with ENOSPC, EIO or any other error, and
// writes after some of the bytes. [FS.FailReads] makes a file unreadable.
//
// Symbolic links, hard links, owners, times and renames between directories are not simulated; the
// latter fail with EXDEV.
//
// Only tests import it. Start reading at EveryCut.
package crashfs
