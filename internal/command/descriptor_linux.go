package command

import (
	"fmt"
	"os"
)

// Self returns a path of the running program, which stays valid when its file is replaced.
func Self() (string, error) { return "/proc/self/exe", nil }

// byDescriptor returns a path that leads to the open file and to no other, as long as it is open. A
// script, and whatever else the kernel gives to an interpreter, keeps its own path: the interpreter
// opens it by that name, and the script itself may want to know it. Nobody who could replace it
// passes Cmd.Trust.
func byDescriptor(file *os.File, path string) string {
	const native = "\x7fELF"
	var mark [len(native)]byte
	if n, err := file.ReadAt(mark[:], 0); err != nil || string(mark[:n]) != native {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd())
}
