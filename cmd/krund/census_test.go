package main

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/control"
	"krund/internal/machine/host"
	"krund/internal/machine/noise"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestCensusCPUs: all but the lowest by default, the only one of a small machine, and a list.
func TestCensusCPUs(t *testing.T) {
	for _, test := range []struct{ online, list, want, refused string }{
		{"0-3", "", "1-3", ""}, {"0", "", "0", ""}, {"0-3", "0,2", "0,2", ""},
		{"0-3", "4", "", "may use only 0-3"}, {"0-3", "x", "", "CPU number"},
	} {
		dir := t.TempDir()
		must.Write(t, filepath.Join(dir, "sys/devices/system/cpu/online"), test.online+"\n")
		m := &control.Machine{Host: host.Host{Root: sysroot.New(dir)}}
		cpus, err := censusCPUs(m, control.Defaults(), test.list)
		must.Be(t, (test.refused != "" || err == nil && cpus.String() == test.want) && (test.refused == "" ||
			err != nil && strings.Contains(err.Error(), test.refused)), test.list, "of", test.online, cpus,
			err)
	}
}

// TestKeepCertificate: an experiment keeps the certificate of the machine as it is, and of no other
// state of it.
func TestKeepCertificate(t *testing.T) {
	c := noise.Certificate{Fingerprint: map[string]string{"kernel.release": "6.1", "bios.version": "A25"}}
	must.Equal(t, len(noise.Changed(c, map[string]string{"kernel.release": "6.1", "new": "x"})), 0)
	got := noise.Changed(c, map[string]string{"kernel.release": "6.12", "bios.version": "A26"})
	must.Equal(t, strings.Join(got, ", "), "bios.version A25 -> A26, kernel.release 6.1 -> 6.12")
}
