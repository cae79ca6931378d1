package display

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
)

// VersionNumber is the current release, or the next one during development.
const VersionNumber = "0.1.0"

// Version returns VersionNumber with the revision from which the program was built, if the build
// recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return VersionNumber
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return VersionNumber + "+" + s.Value[:12]
		}
	}
	return VersionNumber
}

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
