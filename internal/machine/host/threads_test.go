package host

import (
	"fmt"
	"testing"

	"krund/rig/must"
)

// statText is /proc/PID/stat of a thread with these flags and start time; its name is an ugly one.
func statText(flags, start int) string {
	return fmt.Sprintf(
		"7 (a) b) (c) S 2 0 0 0 -1 %d 0 0 0 0 0 1 0 0 20 0 1 0 %d 0 0 18446744073709551615 0\n", flags, start)
}

func TestParseThread(t *testing.T) {
	const status = "Name:\ta) b) (c\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"
	for _, tt := range []struct {
		name, stat, status string
		ok                 bool
	}{
		{"one", statText(0x208040, 31), status, true},
		{"bound forever by the kernel", statText(0x4208060, 31), status, false},
		{"short", "7 (x) S 2 0", status, false},
		{"no name", "7 S 2", status, false},
		{"no CPUs", statText(0, 31), "Name:\tx\n", false},
		{"none at all", statText(0, 31), "Cpus_allowed_list:\t\n", false},
		{"rubbish", statText(0, 31), "Cpus_allowed_list:\tx\n", false},
	} {
		got, ok := parseThread(tt.stat, tt.status)
		must.Be(t, ok == tt.ok && (!ok || got.Start == 31 && got.CPUs.String() == "0-1"), tt.name, got, ok)
	}
}

func FuzzParseThread(f *testing.F) {
	f.Add(statText(0, 31), "Cpus_allowed_list:\t0-1\n")
	f.Add("7 (x", "Cpus_allowed_list:")
	f.Fuzz(func(t *testing.T, stat, status string) {
		got, ok := parseThread(stat, status)
		must.Be(t, !ok || len(got.CPUs) != 0, "a thread that may run nowhere", got)
	})
}
