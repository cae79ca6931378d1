package display

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Program returns what a person types to start the program that is installed beside the one
// started as arg0 (os.Args[0]): its name if the PATH leads to it, otherwise its path as that of
// arg0 was typed.
func Program(arg0, name string) string {
	dir, _ := filepath.Split(arg0)
	beside, err := os.Stat(dir + name)
	if dir == "" || err != nil {
		return name
	}
	if path, err := exec.LookPath(name); err == nil {
		if inPath, err := os.Stat(path); err == nil && os.SameFile(inPath, beside) {
			return name
		}
	}
	return ShellPath(dir + name)
}
