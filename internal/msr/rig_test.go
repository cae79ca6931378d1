//go:build cgo

package msr

import (
	"os"
	"syscall"
	"testing"
	"time"

	libkrun "krund/cgo"
	"krund/rig"
	"krund/rig/must"
)

// TestInMachine runs this test program inside a machine with the kernel's own msr
// module: there the devices are real files of the kernel, which only root may open.
func TestInMachine(t *testing.T) {
	self := must.Get(os.Executable())(t)
	for _, test := range []struct {
		name     string
		moving   bool // the counters count; else every register reads 0
		run      string
		contains []string
	}{
		{"counting", true, "TestUnprivileged(Cores|Execution)",
			[]string{"msr: available: reads registers of 2 cores; CPUID does not tell the width of core " +
				"1's cycles counter: assuming 48 bits", "perf: not available"}},
		{"emulator", false, "TestUnprivilegedCores",
			[]string{"register 0xe8 of core 0 stands still at 0", "SKIP"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var payload rig.Payload
			must.Do(t, payload.Copy("/root/msr.test", self))
			m := rig.Boot(t, rig.Options{MSR: test.moving, Payload: &payload, Time: 15 * time.Second})
			m.WaitRunning()
			out, status := m.Try("cd /root && ./msr.test -test.v -test.run '" + test.run + "'")
			t.Log(out)
			must.Equal(t, status, 0, "status")
			for _, part := range test.contains {
				must.Contain(t, out, part)
			}
			if out, status := m.Try("setpriv --reuid 65534 --clear-groups dd if=/dev/cpu/0/msr " +
				"of=/dev/null bs=8 count=1"); status == 0 {
				t.Errorf("an unprivileged user can open the device: %s", out)
			}
		})
	}
}

// duplicate returns another descriptor of a file.
func duplicate(t testing.TB, f *os.File) int {
	t.Helper()
	fd := must.Get(syscall.Dup(int(f.Fd())))(t)
	return fd
}

// keepFiles plans duplicates of the groups' files, because libkrun closes what it is given.
func keepFiles(t testing.TB, groups []libkrun.Group) {
	t.Helper()
	for i, g := range groups {
		if g.File != nil {
			groups[i].FD = duplicate(t, g.File)
		}
	}
}
