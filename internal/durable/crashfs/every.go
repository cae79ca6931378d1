package crashfs

import (
	"fmt"
	"iter"
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
