package crashfs

import (
	"fmt"
	"iter"
)

// Cut is one way in which a program was interrupted.
type Cut struct {
	Op     Op     // in which the power failed; Number 0 when the program ended before
	Policy Policy // what survived
	Err    error  // what the program returned: wraps ErrPowerCut, or not when it dealt with it
}

// String says where and how, for failure messages.
func (c Cut) String() string {
	if c.Op.Number == 0 {
		return fmt.Sprintf("cut after the end, %s survives", c.Policy)
	}
	return fmt.Sprintf("cut in %s, %s survives", c.Op, c.Policy)
}

// EveryCut runs program on a file system from build, again and again: first
// with the power failing in operation 1, then 2, and so on until the program
// ends before it fails; then it is cut after the end. For each cut and each of
// the policies it yields the file system after the reboot. program must do the
// same operations each time up to the cut. When build calls PanicOnCut, the cut
// ends it by a panic, which goes no further.
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
