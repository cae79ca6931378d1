package command

import (
	"fmt"
	"os"
)

// Self returns a path of the running program, which stays valid when its file is replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// byDescriptor returns a path that leads to the open file and no other, as long as the file is
// open. Scripts, and other files that the kernel passes to an interpreter, keep their own path: the
// interpreter opens them by it, and a script may need it. Only users whom Cmd.Trust accepts can
// replace such a file.
func byDescriptor(file *os.File, path string) string {
	const native = "\x7fELF"
	var mark [len(native)]byte
	if n, err := file.ReadAt(mark[:], 0); err != nil || string(mark[:n]) != native {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd())
}
