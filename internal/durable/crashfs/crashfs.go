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
// [FS.PanicOnCut] makes it panic instead, for code that would act on the error; [Run] converts that
// panic into the error. [FS.Reboot] then returns the file system that the machine finds afterwards,
// according to a [Policy]: [Nothing], [Everything], [Names], [Contents], [Random], [Torn]. It can
// be called repeatedly for the same cut. [FS.Survivor] returns the same without cutting the power.
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

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"syscall"
)

// Cut is one interruption of a program.
type Cut struct {
	Op     Op     // the operation in which the power failed; Number 0 if the program ended first
	Policy Policy // what survived
	Err    error  // the program's error: wraps ErrPowerCut unless the program handled it
}

// String describes the cut for failure messages.
func (c Cut) String() string {
	if c.Op.Number == 0 {
		return fmt.Sprintf("cut after the end, %s survives", c.Policy)
	}
	return fmt.Sprintf("cut in %s, %s survives", c.Op, c.Policy)
}

// EveryCut runs program repeatedly on a file system from build: the power fails in operation 1,
// then in operation 2, and so on until the program ends first; finally it is cut after the end. For
// each cut and each policy it yields the file system after the reboot. program must perform the
// same operations each time up to the cut. If build calls PanicOnCut, the cut ends the program by a
// panic, which EveryCut recovers.
func EveryCut(build func() *FS, program func(*FS) error, policies ...Policy) iter.Seq2[Cut, *FS] {
	return func(yield func(Cut, *FS) bool) {
		for op := 1; ; op++ {
			fsys := build()
			fsys.CrashAt(fsys.Ops() + op)
			cut := Cut{Err: Run(func() error { return program(fsys) })}
			ended := !fsys.IsCut()
			if !ended {
				log := fsys.Log()
				cut.Op = log[len(log)-1]
			}
			for _, p := range policies {
				cut.Policy = p
				if !yield(cut, fsys.Reboot(p)) {
					return
				}
			}
			if ended {
				return
			}
		}
	}
}

// Kind is the kind of an operation.
type Kind string

// The kinds of numbered operations.
const (
	Create   Kind = "create" // OpenFile creating a file
	Truncate Kind = "truncate"
	Write    Kind = "write"
	Sync     Kind = "sync"
	Mkdir    Kind = "mkdir"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	SyncDir  Kind = "syncdir"
)

// Op is an operation that was performed or attempted.
type Op struct {
	Number int // from 1
	Kind   Kind
	Name   string // full name
	To     string // of a rename
	Offset int64  // of a write
	Bytes  int    // of a write

	grows bool // needs space on the disk
}

// String returns, for example, "17 write /x/schedule 128 bytes at 1024".
func (op Op) String() string {
	text := fmt.Sprintf("%d %s %s", op.Number, op.Kind, op.Name)
	switch op.Kind {
	case Rename:
		return text + " to " + op.To
	case Write:
		return fmt.Sprintf("%s %d bytes at %d", text, op.Bytes, op.Offset)
	}
	return text
}

// Fault makes operations fail.
type Fault struct {
	Op        int              // number of the first operation that may fail; 0 is any
	Err       error            // syscall.EIO, syscall.ENOSPC, ...
	Permanent bool             // all matching operations from then on, instead of one
	Short     int              // of a write: bytes that are written before it fails
	Match     func(op Op) bool // which operations; nil is all
}

// hits reports whether the fault applies to op. A full disk does not affect operations that need no
// space.
func (f *Fault) hits(op Op) bool {
	full := errors.Is(f.Err, syscall.ENOSPC) || errors.Is(f.Err, syscall.EDQUOT)
	return op.Number >= f.Op && (!full || op.grows) && (f.Match == nil || f.Match(op))
}

// Inject adds a fault. The first one that applies to an operation is used. A Sync that fails loses
// what it should have written; other operations have no effect, except for the bytes of a short
// write.
func (fsys *FS) Inject(f Fault) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.faults = append(fsys.faults, &f)
}

// FailReads makes reading the file or listing the directory name fail with err; nil reverts that.
func (fsys *FS) FailReads(name string, err error) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.unread[clean(name)] = err
}

// Heal removes all faults.
func (fsys *FS) Heal() {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.faults = nil
	clear(fsys.unread)
}

// CrashAt cuts the power in the middle of operation number op, counted from the start of this FS:
// that operation and all later ones fail with ErrPowerCut. 0 disables it.
func (fsys *FS) CrashAt(op int) {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.crashAt = op
}

// PanicOnCut makes the operation in which the power is cut panic with ErrPowerCut instead of
// returning it. Later operations return the error, so that deferred calls do no harm. Run converts
// the panic into the error.
func (fsys *FS) PanicOnCut() {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	fsys.panics = true
}

// Run calls program and returns its error, or ErrPowerCut if it panicked with that.
func Run(program func() error) (err error) {
	defer func() {
		r := recover()
		if cut, ok := r.(error); ok && errors.Is(cut, ErrPowerCut) {
			err = cut
		} else if r != nil {
			panic(r)
		}
	}()
	return program()
}

// IsCut reports whether the power is off.
func (fsys *FS) IsCut() bool {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return fsys.cut
}

// Ops returns the number of operations so far.
func (fsys *FS) Ops() int {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return len(fsys.log)
}

// Log returns the operations so far. If the power was cut, the last one is the operation in which
// that happened.
func (fsys *FS) Log() []Op {
	fsys.mu.Lock()
	defer fsys.mu.Unlock()
	return slices.Clone(fsys.log)
}

// do numbers op and performs, fails or cuts it. effect changes what programs see; its argument is
// the number of bytes actually written by a write.
func (fsys *FS) do(op Op, effect func(bytes int)) error {
	op.Number = len(fsys.log) + 1
	fsys.log = append(fsys.log, op)
	if op.Number == fsys.crashAt {
		fsys.cutIn(op, effect)
		if fsys.panics {
			panic(ErrPowerCut)
		}
		return ErrPowerCut
	}
	for i, f := range fsys.faults {
		if !f.hits(op) {
			continue
		}
		if !f.Permanent {
			fsys.faults = slices.Delete(fsys.faults, i, i+1)
		}
		if op.Kind == Write && f.Short > 0 {
			effect(min(f.Short, op.Bytes))
		}
		return f.Err
	}
	effect(op.Bytes)
	return nil
}

// cutIn cuts the power during op. What op would have changed may survive; what it would have made
// durable is not durable.
func (fsys *FS) cutIn(op Op, effect func(int)) {
	if op.Kind != Sync && op.Kind != SyncDir {
		effect(op.Bytes)
	}
	fsys.cut = true
}
