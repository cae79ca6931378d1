//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable/foreign"
	"krund/internal/durable/foreign/deadfs"
	"krund/rig/must"
)

// TestDeadFileSystem: the benchmarks are on a file system that does not answer. A signal ends krund
// nevertheless, and the experiment has not begun.
func TestDeadFileSystem(t *testing.T) {
	e := newExperiment(t)
	e.c("b", good)
	asked := deadfs.Mount(t, filepath.Join(e.dir, "benchmarks"))
	r := e.start()
	select {
	case <-asked:
		r.signal(syscall.SIGTERM)
	case <-r.done:
	}
	r.wait().want(t, exitInterrupted, "")
	must.Refused(os.Stat(filepath.Join(e.directory, "schedule")))(t, "", "there is a schedule")
}

// TestKernelFile: a file of the kernel is neither a program nor a benchmark. Reading one such as
// /proc/kmsg waits for ever.
func TestKernelFile(t *testing.T) {
	e := newExperiment(t)
	e.c("b", good)
	e.vm["proc"] = "C"
	e.benchmarks = append(e.benchmarks, "proc")
	e.extra = "[vms.Kernel]\nrunner = \"python\"\npath = \"/proc/kmsg\"\nvariants = [\"kernel\"]\n" +
		"[variants.kernel]\nentry = \"version\"\n[machines.\"*\".experiment]\nbenchmarks = \"/\"\n"
	e.run().want(t, exitUsage, "/proc/kmsg is a file of the kernel",
		"/proc/version, which is a file of the kernel")
}

// TestPrepareLate: what comes before the first slot has a limit.
func TestPrepareLate(t *testing.T) {
	never := make(chan bool)
	defer close(never)
	_, err := prepareWithin(t.Context(), time.Nanosecond, func() (prepared, error) {
		<-never
		return prepared{}, nil
	})
	must.Be(t, errors.Is(err, foreign.ErrLate) && strings.Contains(err.Error(), "name another file"), err)
}
