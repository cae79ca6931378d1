package attack

import (
	"embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

//go:embed leaves fills
var benchmarks embed.FS

// experimentText has verbs for: benchmarks, executions, limits.
const experimentText = `
[experiment]
reboot = "none"
attempts = 1
benchmarks = %q
executions = %d
iterations = 1

[limits]
timeout = "10m"
%s
` + rig.NoWaits + `
[controls]
tickless = "require"

[vms.CPython]
runner = "python"
path = "python3"
variants = ["default"]

[variants.default]
entry = "bench.py"

[benchmarks]
`

// experiment is an experiment with a single benchmark.
type experiment struct {
	name       string
	source     string // the directory of the benchmark in this package
	executions int
	parameter  int
	limits     string // TOML
}

func (x experiment) add(t *testing.T, files *rig.Payload) {
	t.Helper()
	names, err := files.Benchmarks(x.name, benchmarks, x.source)
	must.Need(t, err == nil && len(names) == 1, "benchmarks of", x.source, names, err)
	text := fmt.Sprintf(experimentText, x.name, x.executions, x.limits)
	files.Experiment(x.name, text+fmt.Sprintf("%s = { parameter = %d }\n", names[0], x.parameter))
}

// run runs the experiment and requires a completed record of each execution at the first attempt.
func (x experiment) run(t *testing.T, m *rig.Machine) *rig.Experiment {
	t.Helper()
	name, executions := x.name, x.executions
	ended := m.RunExperiment(name)
	must.Equal(t, ended.Result, "success", name, "krund ended with", ended, "its log", m.Log(name))
	e := m.ExperimentNow(rig.Directory(name))
	if n := e.Count(schedule.Completed); n != executions || len(e.Records) != executions {
		t.Errorf("%s: %d completed of %d records, want %d", name, n, len(e.Records), executions)
	}
	for _, r := range e.Records {
		must.Be(t, len(rig.Reasons(r)) <= 0 && r.Attempt == 1, name, "execution", r.Pexec, "attempt",
			r.Attempt, r.Outcome, r.Reasons)
	}
	return e
}

// TestDeepTreesAndKeys: a benchmark leaves 45,000 nested directories in its home, on disk and in
// memory, 1000 in /tmp, and a key in each of the kernel's keyrings. The next execution sees none of
// it, and nothing remains at the end.
func TestDeepTreesAndKeys(t *testing.T) {
	rig.Long(t, "takes minutes")
	var files rig.Payload
	list := []experiment{
		{name: "leaves", source: "leaves", executions: 2, parameter: 45_000},
		{name: "memory", source: "leaves", executions: 2, parameter: 5000, limits: `home = "32MiB"`},
	}
	for _, x := range list {
		x.add(t, &files)
	}
	m := machine(t, &files)
	for _, x := range list {
		name := x.name
		for _, r := range x.run(t, m).Records {
			var found struct{ Home, Tmp, Keys []string }
			must.Do(t, json.Unmarshal([]byte(r.Process.Stdout.Text), &found), "execution", r.Pexec, "printed",
				r.Process.Stdout.Text)
			must.Be(t, len(found.Home)+len(found.Tmp)+len(found.Keys) <= 0, name, "execution", r.Pexec,
				"found", found)
			removed := strings.Join(r.Process.Findings, "\n")
			must.Be(t, r.Pexec <= 1 || removed == "removed 1000 files that the last benchmark left in /tmp",
				name, "execution", r.Pexec, "findings", removed)
		}
		out := m.Sh("ls -d /home/krun /tmp/left 2>/dev/null; grep krun /etc/passwd /proc/mounts | head -c " +
			"1000; :")
		must.Equal(t, out, "", name, "in the end there")
	}
}

// TestFilledDisk: the homes and the results are on one small disk, and a benchmark fills it.
func TestFilledDisk(t *testing.T) {
	rig.Long(t, "takes a minute")
	var files rig.Payload
	fills := experiment{name: "fills", source: "fills", executions: 3, parameter: 1}
	fills.add(t, &files)
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Devices: rig.SmallDisk(t, "small", 48)})
	m.PowerOn()
	m.WaitUp()
	dir := rig.Directory("fills")
	m.Sh(`mkdir -p /mnt/small
for d in /sys/block/vd*; do [ "$(cat $d/serial)" = small ] && mount /dev/${d##*/} /mnt/small; done
mountpoint /mnt/small`)
	m.Sh("mkdir /mnt/small/home /mnt/small/results " + dir + " && mount --bind /mnt/small/home /home && " +
		"mount --bind /mnt/small/results " + dir)
	for _, r := range fills.run(t, m).Records {
		var written int
		_, err := fmt.Sscan(r.Process.Stdout.Text, &written)
		must.Be(t, err == nil && written >= 20<<20, "execution", r.Pexec, "wrote", r.Process.Stdout.Text, err)
	}
	log := m.Sh("cat " + dir + "/log")
	const reason = "no space was left on the disk of the results; removed the benchmark's files"
	must.Equal(t, strings.Count(log, reason), fills.executions, "the log gives the reason", "times")
	out := m.Sh("ls -A /home | grep krun; ls " + dir + "/reserve 2>/dev/null; :")
	must.Equal(t, out, "", "in the end there")
}

// statInterval is the setting that the experiments of the suite change, with the value they set.
const (
	statInterval = "/proc/sys/vm/stat_interval"
	changed      = "37"
)

// held is an experiment in one boot that changes one setting, with a benchmark that the test can
// hold. more contains further lines of [experiment], sections further sections.
func held(more, sections string) string {
	return "[experiment]\nreboot = \"none\"\nexecutions = 2\n" + more + rig.Limits("4m", "none") + `
[controls]
stat_interval = { policy = "require", seconds = ` + changed + ` }
` + sections + rig.Python(1) + rig.HeldBenchmark + " = { parameter = 0 }\n"
}

// withHeld boots a machine with experiments, keyed by name.
func withHeld(t *testing.T, experiments map[string]string) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Held()
	for name, text := range experiments {
		files.Experiment(name, text)
	}
	return machine(t, &files)
}

// asMallory returns a command that runs as mallory.
func asMallory(command string) string { return "runuser -u " + mallory + " -- " + command }

// setting waits until the setting has a value.
func setting(m *rig.Machine, want string) {
	m.Await(statInterval+" to be "+want, func() (string, bool) {
		value := m.Sh("cat " + statInterval)
		return value, value == want
	})
}

// dies makes a file system fail every access from now on, like one whose disk is gone:
// EXT4_IOC_SHUTDOWN of fs/ext4/ext4.h in the kernel, with EXT4_GOING_FLAGS_NOLOGFLUSH.
const dies = `import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(fd, 0x8004587D, struct.pack("I", 2))
`

// TestDeadFileSystem: the file system of the experiment fails, and then krund is killed. Its guard
// restores the machine, and so does the unit.
func TestDeadFileSystem(t *testing.T) {
	rig.Long(t, "the short selection has three attacks")
	var files rig.Payload
	files.Held()
	files.Script("/usr/local/rig/dies.py", dies)
	files.Text("/srv/x.toml", strings.Replace(held("", ""), "[experiment]\n",
		"[experiment]\nbenchmarks = \"/srv/krund/benchmarks\"\n", 1))
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Devices: rig.SmallDisk(t, "small", 48)})
	m.PowerOn()
	m.WaitUp()
	before := m.Sh("cat " + statInterval)
	const mount = `mkdir -p /mnt/small; for d in /sys/block/vd*; do [ "$(cat $d/serial)" = small ] && mount /dev/${d##*/} /mnt/small; done; ` +
		"mountpoint /mnt/small && rm -rf /mnt/small/x.krun"
	m.Sh(mount)
	m.Hold()
	krund := m.Start("krund run --directory /mnt/small/x.krun /srv/x.toml")
	m.WaitHeld()
	setting(m, changed)
	m.Sh("sync; python3 /usr/local/rig/dies.py /mnt/small")
	if out, status := m.Try("touch /mnt/small/new"); status == 0 {
		t.Fatalf("the file system still works: %s", out)
	}
	krund.Kill()
	setting(m, before)
	m.LetGo()
	m.WaitNoKrund()
	if out := m.Sh("ls -A /run/krund"); strings.Contains(out, "journal") {
		t.Errorf("a copy of the journal stays after everything was restored: %s", out)
	}

	// Now the guard and krund are killed together, as systemd does.
	m.Sh("umount /mnt/small && " + mount)
	m.Hold()
	krund = m.Start("krund run --directory /mnt/small/x.krun /srv/x.toml")
	m.WaitHeld()
	setting(m, changed)
	m.Sh("sync; python3 /usr/local/rig/dies.py /mnt/small")
	m.KillKrund(krund)
	setting(m, changed)
	out, status := m.Try("krunctl repair --machine /mnt/small/x.krun")
	must.Be(t, status == 1 && strings.Contains(out, "restored"), "krunctl repair --machine: status", status,
		out)
	setting(m, before)
}

// journalOf returns a journal with valid checksums that requests a change of a file of root.
func journalOf(bootID string) string {
	var text strings.Builder
	for _, line := range []string{
		`{"op":"journal","version":1}`,
		fmt.Sprintf(
			`{"op":"set","n":1,"boot":%q,"control":"aslr","step":{"kind":"file","target":"/srv/shadow.copy","old":"root::0::::::","new":"x"}}`, bootID),
		fmt.Sprintf(
			`{"op":"set","n":2,"boot":%q,"control":"overcommit","step":{"kind":"file","target":"/proc/sys/vm/overcommit_memory","old":"1","new":"0"}}`, bootID),
	} {
		fmt.Fprintf(&text, "%08x %s\n", crc32.Checksum([]byte(line), crc32.MakeTable(crc32.Castagnoli)), line)
	}
	return text.String()
}

// hostileJournal: mallory writes a journal in a directory that all users can write. Neither the
// unit nor a user who restores as root changes anything because of it. Even a journal written by
// root only changes what a control can have changed.
func hostileJournal(t *testing.T, m *rig.Machine) {
	m.Sh("echo root:secret >/srv/shadow.copy && mkdir -p /srv/krund/x.krun/results && chmod 777 " +
		"/srv/krund/x.krun")
	m.Put("/tmp/journal", 0o644, []byte(journalOf(m.Sh("cat /proc/sys/kernel/random/boot_id"))))
	m.Sh(asMallory("cp /tmp/journal /srv/krund/x.krun/journal"))
	before := m.Sh("cat /proc/sys/vm/overcommit_memory")
	untouched := func(when string) {
		t.Helper()
		must.Equal(t, m.Sh("cat /srv/shadow.copy"), "root:secret", when,
			"mallory's journal has made root write")
		must.Equal(t, m.Sh("cat /proc/sys/vm/overcommit_memory"), before, when, "overcommit_memory")
	}
	ended := m.RunExperiment("x")
	must.Be(t, ended.Result != "success", "the unit accepts the directory", ended)
	log := m.Log("x")
	must.Be(t, strings.Contains(log, "can be changed by others") && !strings.Contains(log, "restored"),
		"the unit's log", log)
	untouched("by the unit")
	out, status := m.Try("krunctl repair --machine /srv/krund/x.toml")
	must.Be(t, status != 0 && strings.Contains(out, "can be changed by others"),
		"krunctl repair --machine: status",
		status, out)
	untouched("by krunctl repair --machine")

	m.Sh("chown -R root:root /srv/krund/x.krun && chmod 755 /srv/krund/x.krun && chmod 644 " +
		"/srv/krund/x.krun/journal")
	out, status = m.Try("krunctl repair --machine /srv/krund/x.toml")
	must.Be(t, status != 0 && strings.Contains(out, "aslr: /srv/shadow.copy not restored"),
		"krunctl repair --machine of a journal that root has put there: status", status, out)
	must.Equal(t, m.Sh("cat /srv/shadow.copy"), "root:secret", "a journal makes root write")
	must.Equal(t, m.Sh("cat /proc/sys/vm/overcommit_memory"), "1", "what the control can have changed",
		"want it restored to 1")
}
