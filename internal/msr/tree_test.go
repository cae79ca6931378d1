package msr

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// tree is a machine of files: names and texts.
type tree map[string]string

func (files tree) root(t *testing.T) sysroot.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	return sysroot.New(dir)
}

// and returns both trees together.
func (files tree) and(more tree) tree {
	all := tree{}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range more {
		all[name] = text
	}
	return all
}

// without returns the tree without the files of a PMU.
func (files tree) without(pmu string) tree {
	rest := files.and(nil)
	for name := range files {
		if strings.HasPrefix(name, devices+pmu) {
			delete(rest, name)
		}
	}
	return rest
}

// xeon is a server with the msr PMU; the type numbers are those of a Debian 12.
var xeon = tree{
	"/sys/devices/system/cpu/online":   "0-1\n",
	"/proc/sys/kernel/nmi_watchdog":    "0\n",
	devices + "/msr/type":              "9\n",
	devices + "/msr/events/tsc":        "event=0x00\n",
	devices + "/msr/events/aperf":      "event=0x01\n",
	devices + "/msr/events/mperf":      "event=0x02\n",
	devices + "/msr/events/smi":        "event=0x04\n",
	devices + "/cpu/type":              "4\n",
	devices + "/software/type":         "1\n",
	devices + "/cpu/events/cpu-cycles": "event=0x3c\n",
}

// hybrid has cores of two kinds, 0-1 and 2, and no PMU that counts on all of them.
var hybrid = xeon.without("/cpu/").and(tree{
	"/sys/devices/system/cpu/online": "0-2\n",
	devices + "/cpu_core/type":       "4\n",
	devices + "/cpu_core/cpus":       "0-1\n",
	devices + "/cpu_atom/type":       "10\n",
	devices + "/cpu_atom/cpus":       "2\n",
})

// call is one perf_event_open.
type call struct {
	name    string
	config  uint64
	core    int
	leads   bool
	inherit bool
}

// kernel answers perf_event_open. A leader is a file with what its group reads.
type kernel struct {
	t        *testing.T
	refuse   map[string]error // by name
	hardware int              // hardware events that find a place in a group; 0: any number, -1: none
	calls    []call
	open     map[*os.File]bool
	groups   map[*os.File][]event
}

func newKernel(t *testing.T) *kernel {
	k := &kernel{t: t, refuse: map[string]error{}, open: map[*os.File]bool{}, groups: map[*os.File][]event{}}
	t.Cleanup(func() {
		for f := range k.open {
			_ = f.Close()
		}
	})
	return k
}

func (k *kernel) openEvent(e event, o eventOptions) (*os.File, error) {
	k.calls = append(k.calls, call{e.name, e.config, o.core, o.leader == nil, o.inherit})
	if err := k.refuse[e.name]; err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	f := must.Get(os.CreateTemp(k.t.TempDir(), "event"))(k.t)
	k.open[f] = true
	leader := o.leader
	if leader == nil {
		leader = f
	}
	k.groups[leader] = append(k.groups[leader], e)
	k.answer(leader)
	return f, nil
}

// answer writes what a group reads: nothing when it finds no place.
func (k *kernel) answer(leader *os.File) {
	events := k.groups[leader]
	hardware := 0
	for _, e := range events {
		if e.kind == typeHardware {
			hardware++
		}
	}
	words := []uint64{uint64(len(events)), 100, 100}
	words = append(words, make([]uint64, len(events))...)
	var raw []byte
	if k.hardware == 0 || hardware <= max(k.hardware, 0) {
		for _, w := range words {
			raw = binary.NativeEndian.AppendUint64(raw, w)
		}
	}
	must.Do(k.t, os.WriteFile(leader.Name(), raw, 0o600))
}

// opened returns what krund counts on a machine, and what was decided; nothing may be open in the
// end.
func (k *kernel) opened(machine tree, want Want) (*Counters, Reason) {
	k.t.Helper()
	c, r := system{open: k.openEvent, load: noModules}.choose(k.t.Context(), machine.root(k.t), want)
	must.Need(k.t, c != nil, r)
	k.t.Cleanup(func() {
		err := c.Close()
		must.Be(k.t, err == nil && k.left() == 0, "close", err, k.left(), "left open")
	})
	return c, r
}

// left counts the events that are still open.
func (k *kernel) left() int {
	n := 0
	for f := range k.open {
		if _, err := f.Stat(); err == nil {
			n++
		}
	}
	return n
}

// names are the columns of a plan, with their cores.
func names(c *Counters) string {
	var list []string
	for _, column := range c.columns {
		list = append(list, column.Name+on(column.Core))
	}
	return strings.Join(list, ", ")
}

var errRefused = map[string]error{"enoent": syscall.ENOENT, "eacces": syscall.EACCES,
	"enosys": syscall.ENOSYS, "emfile": syscall.EMFILE}
