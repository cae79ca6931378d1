package runnertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// CopyBuilt copies directories with the times of their files into dir, which is new. A Makefile
// that builds in dir then builds only what is missing in them or older than its sources.
// Directories that do not exist are left out.
func CopyBuilt(dir string, directories ...string) error {
	args := []string{"-Rp"}
	for _, d := range directories {
		if _, err := os.Stat(d); err == nil {
			args = append(args, d)
		}
	}
	if len(args) == 1 {
		return nil
	}
	out, err := exec.CommandContext(context.Background(), "cp", append(args, dir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cp %v %s: %w\n%s", args, dir, err, out)
	}
	return nil
}

// CopyRunners is CopyBuilt of what `make build` has built of libkrun and the runners in build.
func CopyRunners(dir, build string) error {
	return CopyBuilt(dir, build+"/cgo", build+"/include", build+"/lib", build+"/runners")
}
