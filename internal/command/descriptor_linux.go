package command

import (
	"fmt"
	"os"
)

// byDescriptor returns a path that leads to the open file and to no other, as long as it is open. A script keeps its
// own path: its interpreter opens it by that name, and the script itself may want to know it. Nobody who could replace it
// passes Cmd.Trust.
func byDescriptor(file *os.File, path string) string {
	var mark [2]byte
	if n, err := file.ReadAt(mark[:], 0); err != nil || n < len(mark) || string(mark[:]) == "#!" {
		return path
	}
	return fmt.Sprintf("/proc/self/fd/%d", file.Fd())
}
