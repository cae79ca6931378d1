package control

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/control/machines"
	"krund/internal/durable/crashfs"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// boot is the boot id in every tree.
const boot = "2f4b0a51-6e1d-4c0e-9f7c-1c9f3a6d7e10"

// copyTree unpacks a machine in a temporary directory.
func copyTree(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), name)
	must.Do(t, machines.Unpack(dir, name))
	return dir
}

// tempDir is t.TempDir in memory where there is such a file system: the crash tests copy a machine
// some hundred times.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "krund-control-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		must.Do(t, os.RemoveAll(dir))
	})
	return dir
}

// fakeMachine returns a copy of a machine with a kernel that behaves (fakekernel_test.go), swap and
// services.
func fakeMachine(t *testing.T, name string) (*Machine, *fakeKernel) {
	t.Helper()
	k := &fakeKernel{dir: copyTree(t, name)}
	m := NewMachine(t.Context(), sysroot.New(k.dir).With(k))
	m.Swap = fakeSwap{m, k}
	m.Units = &fakeUnits{kernel: k, units: []Unit{
		{Name: "cron.service", Active: true},
		{Name: "ssh.service", Active: true, TriggeredBy: []string{"ssh.socket"}},
		{Name: "ssh.socket", Active: true}, {Name: "apt-daily.timer", Active: true},
		{Name: "dbus.service", Active: true},
		{Name: "idle.service"},
	}}
	m.Links = &fakeLinks{kernel: k, links: []Link{{"lo", true, true}, {"eth0", true, false},
		{"eth1", false, false}}, routes: map[string]string{"eth0": "default"}}
	m.Commands = noCommands{}
	return m, k
}

// everything asks for all that can be asked for.
func everything() Request {
	r := Defaults()
	for i := range r.Demands {
		r.Demands[i].Policy = setting.Apply
	}
	r.Demands = r.With(demand(services, setting.Apply, "stop", []string{"cron.service", "ssh*", "*.timer"}),
		demand(network, setting.Apply, "down", []string{"eth*"}),
		demand(thp, setting.Apply, "defrag", "never"))
	return r
}

// under returns a request with other policies for some settings.
func under(r Request, p setting.Policy, names ...string) Request {
	for _, name := range names {
		r.Demands = r.With(r.Of(name).Under(p))
	}
	return r
}

// demand is what a configuration would ask of one control: options are a name and a value each.
func demand(d Descriptor, p setting.Policy, options ...any) setting.Demand {
	asked := d.Default().Under(p)
	for i := 0; i < len(options); i += 2 {
		value := options[i+1]
		if n, is := value.(int); is {
			value = int64(n)
		}
		asked = asked.With(options[i].(string), value)
	}
	return asked
}

// required returns a control that is required, with options.
func required(d Descriptor, options ...any) Control { return requiredOn("", d, options...) }

// requiredOn is required for benchmarks on the given CPUs.
func requiredOn(cpus string, d Descriptor, options ...any) Control {
	return d.control(requestOn(cpus, demand(d, setting.Require, options...)))
}

// requestOn asks for one thing, and for benchmarks on the given CPUs.
func requestOn(cpus string, one setting.Demand) Request {
	r := Defaults()
	r.Demands = r.With(one)
	r.Demands = r.With(r.Of("shield").With("cpus", cpus))
	return r
}

// openJournal opens a journal in memory.
func openJournal(t *testing.T, m *Machine) *Journal {
	t.Helper()
	j := must.Get(OpenJournal(crashfs.New("/x"), journalPath, m.Boot, epoch))(t)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// snapshot returns all files of a tree, links by their text, directories as "folder".
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		switch {
		case d.IsDir():
			files[name] = "folder"
		case d.Type()&fs.ModeSymlink != 0:
			files[name], err = os.Readlink(path)
		default:
			var data []byte
			data, err = os.ReadFile(path)
			files[name] = string(data)
		}
		return err
	}))
	return files
}

// sameTree compares two snapshots.
func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if g, there := got[name]; !there {
			t.Errorf("%s is gone", name)
		} else if g != want[name] {
			t.Errorf("%s is %q, was %q", name, g, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		_, there := want[name]
		must.Be(t, there, name, "was not there")
	}
}

// find returns the finding of a control.
func find(t *testing.T, findings []setting.Finding, name string) setting.Finding {
	t.Helper()
	i := slices.IndexFunc(findings, func(f setting.Finding) bool { return f.Name == name })
	must.Need(t, i >= 0, "no finding", name)
	return findings[i]
}

// noCommands is a system without programs.
type noCommands struct{}

func (noCommands) Output(_ context.Context, name string, _ ...string) ([]byte, error) {
	return nil, errors.New(name + " is not installed")
}

// fakeSwap edits /proc/swaps.
type fakeSwap struct {
	m      *Machine
	kernel *fakeKernel
}

const swapHeading = "Filename				Type		Size		Used		Priority\n"

func (s fakeSwap) Off(device string) error {
	s.kernel.fuse.burn()
	if !strings.Contains(s.kernel.get("/proc/swaps"), device) {
		return os.ErrInvalid
	}
	s.kernel.put("/proc/swaps", strings.TrimSpace(swapHeading))
	return nil
}

func (s fakeSwap) On(device string, _ int) error {
	s.kernel.fuse.burn()
	s.kernel.put("/proc/swaps", swapHeading+device+
		"                               partition	1000444		0		-2")
	return nil
}

// fakeUnits is a service manager in memory.
type fakeUnits struct {
	kernel *fakeKernel
	units  []Unit
	log    []string
	fail   map[string]error // by "stop NAME" or "start NAME"
}

func (u *fakeUnits) List(_ context.Context, patterns []string) ([]Unit, error) {
	var list []Unit
	for _, x := range u.units {
		if matches(patterns, x.Name) {
			list = append(list, x)
		}
	}
	return list, nil
}

func (u *fakeUnits) Triggers(_ context.Context, name string) ([]string, error) {
	if base, isSocket := strings.CutSuffix(name, ".socket"); isSocket {
		return []string{base + ".service"}, nil
	}
	return nil, nil
}

func (u *fakeUnits) set(verb, name string, active bool) error {
	u.kernel.fuse.burn()
	u.log = append(u.log, verb+" "+name)
	if err := u.fail[verb+" "+name]; err != nil {
		return err
	}
	if service, isSocket := strings.CutSuffix(name, ".socket"); verb == "start" && isSocket &&
		slices.Contains(u.active(), service+".service") {
		return errors.New("socket service already active, refusing") // as systemd does
	}
	for i := range u.units {
		if u.units[i].Name == name {
			u.units[i].Active = active
		}
	}
	return nil
}

func (u *fakeUnits) Stop(_ context.Context, name string) error  { return u.set("stop", name, false) }
func (u *fakeUnits) Start(_ context.Context, name string) error { return u.set("start", name, true) }

// active returns the names of the units that run.
func (u *fakeUnits) active() []string {
	var names []string
	for _, x := range u.units {
		if x.Active {
			names = append(names, x.Name)
		}
	}
	return names
}

// fakeLinks are interfaces in memory; going down loses the routes.
type fakeLinks struct {
	kernel *fakeKernel
	links  []Link
	routes map[string]string
	fail   error
}

func (l *fakeLinks) List() ([]Link, error)            { return l.links, nil }
func (l *fakeLinks) Save(name string) (string, error) { return l.routes[name], nil }

func (l *fakeLinks) Down(name string) error {
	if l.fail != nil {
		return l.fail
	}
	l.kernel.fuse.burn()
	delete(l.routes, name)
	l.set(name, false)
	return nil
}

func (l *fakeLinks) Up(name, saved string) (bool, error) {
	if l.fail != nil {
		return false, l.fail
	}
	l.kernel.fuse.burn()
	changed := l.set(name, true) || l.routes[name] != saved
	l.routes[name] = saved
	return changed, nil
}

func (l *fakeLinks) set(name string, up bool) (changed bool) {
	for i := range l.links {
		if l.links[i].Name == name {
			changed = l.links[i].Up != up
			l.links[i].Up = up
		}
	}
	return changed
}

// texts are files in memory, by name below a root "/nowhere".
type texts map[string]string

func (x texts) ReadFile(path string) ([]byte, error) {
	if text, there := x[strings.TrimPrefix(path, "/nowhere")]; there {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (texts) WriteFile(string, []byte) error         { return fs.ErrPermission }
func (texts) ReadAt(string, []byte, int64) error     { return fs.ErrPermission }
func (texts) WriteAt(string, []byte, int64) error    { return fs.ErrPermission }
func (texts) Hold(string, []byte) (io.Closer, error) { return nil, fs.ErrPermission }
func (texts) Mkdir(string) error                     { return fs.ErrPermission }
func (texts) Rmdir(string) error                     { return fs.ErrPermission }

// ended returns a context that is over.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// sysrootMachine is the root of the machine that the test runs on.
func sysrootMachine() sysroot.Root { return sysroot.New("/") }
