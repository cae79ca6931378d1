package child

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// writeFile makes a file in a directory of the test's own that everybody may enter.
func writeFile(t *testing.T, text string, perm os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	must.Do(t, os.WriteFile(name, []byte(text), perm))
	return name
}

func TestExecFailures(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	for name, c := range map[string]struct {
		Command
		errno, hint string
	}{
		"absent":         {Command{Path: "/nonexistent/program"}, "ENOENT", "check the path"},
		"folder":         {Command{Path: "/tmp"}, "EACCES", "it is a directory"},
		"not executable": {Command{Path: writeFile(t, "#!/bin/sh\n", 0o644)}, "EACCES", "chmod +x"},
		"no program":     {Command{Path: writeFile(t, "hello\n", 0o755)}, "ENOEXEC", "#! line"},
		"no interpreter": {Command{Path: writeFile(t, "#!/nonexistent/python\n", 0o755)}, "ENOENT",
			"the file is there"},
		"not a directory": {Command{Path: "/bin/sh/sh"}, "ENOTDIR", ""},
		"environment too large": {Command{Path: "/bin/true", Env: slices.Repeat([]string{"A=" + big}, 8),
			Limits: Limits{Stack: 512 << 10}}, "E2BIG", "quarter of limits.stack"},
		"argument too long": {Command{Path: "/bin/true", Args: []string{"true", big + big}}, "E2BIG", ""},
	} {
		run := mustRun(t, c.Command)
		f := run.NotStarted
		must.Be(t, f != nil && f.Step == "exec" && f.Errno == c.errno && strings.Contains(f.Text, c.hint),
			name, f, "want", c.errno, "and", c.hint, describe(run))
		must.Be(t, run.Exit == nil && run.Signal == "" && !run.TimedOut && run.Stderr.Text == "", name,
			"a failed start looks like an end", describe(run))
	}
}

func TestOtherStartFailures(t *testing.T) {
	readOnly := must.Get(os.Open(writeFile(t, "12345678", 0o644)))(t)
	defer readOnly.Close()
	for name, c := range map[string]struct {
		Command
		step, errno string
	}{
		"no such directory":   {Command{Dir: "/nonexistent"}, "directory", "ENOENT"},
		"directory is a file": {Command{Dir: "/bin/true"}, "directory", "ENOTDIR"},
		"no such processor":   {Command{CPUs: []int{1000}}, "processors", "EINVAL"},
		"one such processor":  {Command{CPUs: []int{0, 1000}}, "processors", ""},
		"stamp":               {Command{Stamp: readOnly}, "stamp", "EBADF"},
	} {
		c.Path = "/bin/true"
		run := mustRun(t, c.Command)
		f := run.NotStarted
		must.Be(t, f != nil && f.Step == c.step && f.Errno == c.errno && run.Exit == nil, name, describe(run))
	}
}

// asUser runs a daemon as the user nobody and returns what it got.
func asUser(t *testing.T, c Command) Run {
	t.Helper()
	needRoot(t)
	daemon := part("daemon", asJSON(t, c))
	daemon.User = User{Name: "nobody", UID: 65534, GID: 65534}
	daemon.Limits.Output = 1 << 20
	run := mustSucceed(t, daemon)
	var inner Run
	must.Do(t, json.Unmarshal([]byte(run.Stdout.Text), &inner), describe(run))
	return inner
}

// TestInherit: a process that inherits gets what krund has, and any other one what is usual.
func TestInherit(t *testing.T) {
	const privileges = "grep NoNewPrivs /proc/self/status"
	own, err := exec.Command("sh", "-c", privileges).Output() // a container may forbid them to all
	must.Do(t, err)
	c := shell("umask; ulimit -c; ulimit -H -c; " + privileges)
	for _, test := range []struct {
		inherit bool
		want    string
		policy  string
		nice    int
	}{
		{true, "0027\n8\n16\n" + string(own), "SCHED_BATCH", 5}, // ulimit -c counts 512 bytes
		{false, "0022\n0\n0\nNoNewPrivs:\t1\n", "SCHED_OTHER", 0},
	} {
		c.Inherit = test.inherit
		daemon := part("unusual", asJSON(t, c))
		daemon.Inherit = true // of the test itself: the privileges
		daemon.Limits.Output = 1 << 20
		var run Run
		outer := mustSucceed(t, daemon)
		must.Need(t, json.Unmarshal([]byte(outer.Stdout.Text), &run) == nil, describe(outer))
		if os.Geteuid() != 0 && !test.inherit {
			test.nice = 5 // only root may lower it
		}
		must.Be(t, run.Stdout.Text == test.want && run.Seen.Policy == test.policy &&
			run.Seen.Nice == test.nice, "inherit", test.inherit, describe(run))
	}
}

func TestWithoutRoot(t *testing.T) {
	c := shell("echo hello; sleep 100000 & exit 3")
	c.Nice = -20
	run := asUser(t, c)
	must.Be(t, run.Exit != nil && *run.Exit == 3 && run.Strays == 1 && run.Stdout.Text == "hello\n" &&
		run.Seen.Nice == 0, describe(run))
	must.Be(t, len(run.Findings) != 0 && strings.Contains(run.Findings[0], "nice -20: permission denied"),
		"findings", run.Findings)
	c.Nice, c.Cgroup = 0, "krund-test"
	if run = asUser(t, c); run.Cgroup != "" || run.CgroupReason == "" || run.NotStarted != nil {
		t.Errorf("group without rights: got %s", describe(run))
	}
	c.Cgroup, c.User = "", User{Name: "daemon", UID: 1, GID: 1}
	if run = asUser(t, c); run.NotStarted == nil || run.NotStarted.Step != "user" ||
		run.NotStarted.Errno != "EPERM" {
		t.Errorf("other user: got %s", describe(run))
	}
	c.User = User{Name: "nobody", UID: 65534, GID: 65534}
	if run = asUser(t, c); run.NotStarted != nil || run.Seen.UID != 65534 {
		t.Errorf("same user: got %s", describe(run))
	}
}

func TestUser(t *testing.T) {
	needRoot(t)
	secret := t.TempDir()
	must.Do(t, os.Chmod(secret, 0o700))
	c := shell("cat /proc/self/status /proc/self/oom_score_adj")
	c.User = User{Name: "nobody", UID: 65534, GID: 65533, Groups: []int{1234, 17}}
	run := mustSucceed(t, c)
	for name, want := range map[string]string{
		"Uid": "65534 65534 65534 65534", "Gid": "65533 65533 65533 65533", "Groups": "17 1234",
		"NoNewPrivs": "1",
		"CapPrm":     "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000",
	} {
		must.Equal(t, statusLine(run.Stdout.Text, name), want)
	}
	must.Be(t, strings.HasSuffix(run.Stdout.Text, "\n1000\n"), "oom_score_adj",
		run.Stdout.Text[len(run.Stdout.Text)-20:])
	s := run.Seen
	must.Be(t, s.UID == 65534 && s.GID == 65533 && slices.Equal(s.Groups, []int{17, 1234}), "seen", s)
	c.Dir = secret
	run = mustRun(t, c)
	f := run.NotStarted
	must.Be(t, f != nil && f.Step == "directory" && f.Errno == "EACCES" && strings.Contains(f.Text, "nobody"),
		"unreadable directory: got", describe(run))
	c.Dir, c.Path = "/", filepath.Join(secret, "program")
	run = mustRun(t, c)
	f = run.NotStarted
	must.Be(t, f != nil && f.Errno == "EACCES" && strings.Contains(f.Text, "every directory on the way"),
		"program in an unreadable directory: got", describe(run))
}

// statusLine returns a line of /proc/PID/status with single spaces.
func statusLine(text, name string) string {
	for _, line := range lines(text) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	return "no such line"
}

func TestEnvironment(t *testing.T) {
	for name, env := range map[string][]string{
		"none": nil,
		"odd": {"B=2", "A=1", "A=1", "EMPTY=", "=x", "no sign", "UTF=äöü", "LINE=a\nb",
			"PATH=/usr/bin:/bin"},
		"bytes": {"X=\xff\xfe\x80", "Y=\x01"},
	} {
		want := strings.Join(env, "\x00")
		if len(env) > 0 {
			want += "\x00"
		}
		run := mustSucceed(t, Command{
			Path: "/usr/bin/od", Args: []string{"od", "-An", "-v", "-tx1", "/proc/self/environ"}, Env: env,
		})
		got := strings.Join(strings.Fields(run.Stdout.Text), "")
		must.Equal(t, got, fmt.Sprintf("%x", want), name)
		must.Equal(t, run.EnvBytes, len(want), name, "bytes")
	}
}

func TestDescriptors(t *testing.T) {
	leak, err := unix.Dup(1) // without close-on-exec, as a careless daemon might have inherited it
	must.Do(t, err)
	defer unix.Close(leak)
	a, b := writeFile(t, "", 0o644), writeFile(t, "", 0o644)
	var files []*os.File
	for _, name := range []string{a, b} {
		f := must.Get(os.Open(name))(t)
		defer f.Close()
		files = append(files, f)
	}
	stamp := must.Get(os.Create(filepath.Join(t.TempDir(), "stamp")))(t)
	defer stamp.Close()
	c := part("fds")
	c.Files, c.Stamp = []*os.File{files[0], files[1], files[0]}, stamp
	got := map[string]string{}
	for _, line := range lines(mustSucceed(t, c).Stdout.Text) {
		fd, link, _ := strings.Cut(line, " ")
		got[fd] = link
	}
	for fd, want := range map[string]string{"0": "/dev/null", "1": "pipe:", "2": "pipe:", "3": a, "4": b,
		"5": a} {
		must.Be(t, strings.HasPrefix(got[fd], want), "descriptor", fd, got[fd], want)
		delete(got, fd)
	}
	for fd, link := range got {
		// What the part's own Go runtime has opened does not count.
		must.Be(t, strings.HasPrefix(link, "anon_inode:") || strings.HasPrefix(link, "/sys/fs/cgroup/"),
			"descriptor", fd, link, "was not handed over")
	}
	must.Get(files[0].Stat())(t, "the daemon's file was closed")
}

// TestOldClosing does as kernels without close_range(2) must.
func TestOldClosing(t *testing.T) {
	const first = 700
	for fd := first; fd < first+3; fd++ {
		must.Do(t, unix.Dup2(0, fd))
		defer unix.Close(fd)
	}
	must.Do(t, markEach(first+1))
	for fd := first; fd < first+3; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		must.Be(t, err == nil && (flags&unix.FD_CLOEXEC != 0) == (fd > first), "descriptor", fd, "flags",
			flags, err)
	}
}

func TestSignalsAreReset(t *testing.T) {
	signal.Ignore(syscall.SIGUSR1, syscall.SIGHUP)
	defer signal.Reset(syscall.SIGUSR1, syscall.SIGHUP)
	run := mustSucceed(t, Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/status"}})
	for _, name := range []string{"SigBlk", "SigIgn", "SigPnd", "ShdPnd"} {
		must.Equal(t, statusLine(run.Stdout.Text, name), "0000000000000000")
	}
}

func TestPriorityAndProcessors(t *testing.T) {
	c := shell("cut -d' ' -f 19,41 /proc/$$/stat; grep Cpus_allowed_list /proc/$$/status; cat " +
		"/proc/$$/autogroup")
	c.Nice, c.CPUs = 7, []int{0}
	run := mustRun(t, c) // the last file is absent from some kernels
	got := lines(run.Stdout.Text)
	must.Be(t, len(got) >= 2 && got[0] == "7 0" && got[1] == "Cpus_allowed_list:\t0", got)
	// Ordinary users may write that file ten times a second, all of them together.
	refused := len(run.Findings) > 0 && os.Geteuid() != 0
	must.Be(t, len(got) <= 2 || refused || strings.HasSuffix(got[2], " nice 7"), "autogroup", got[2])
	s := run.Seen
	must.Be(t, s.Nice == 7 && s.Policy == "SCHED_OTHER" && slices.Equal(s.CPUs, []int{0}), "seen", s)
	if os.Geteuid() == 0 {
		c.Nice = -20
		run := mustRun(t, c)
		must.Be(t, run.Seen.Nice == -20 && strings.HasPrefix(run.Stdout.Text, "-20 0\n"), describe(run))
	}
}

func TestStamp(t *testing.T) {
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "stamp")))(t)
	defer file.Close()
	before := rawClock(t)
	run := mustSucceed(t, Command{Path: "/bin/true", Stamp: file, StampOffset: 4096})
	after := rawClock(t)
	text, err := os.ReadFile(file.Name())
	must.Need(t, err == nil && len(text) == 4096+8, len(text), "bytes", err)
	if stamp := int64(binary.NativeEndian.Uint64(text[4096:])); stamp <= before || stamp >= after {
		t.Errorf("stamp %d is not between %d and %d: %s", stamp, before, after, describe(run))
	}
}

func rawClock(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	must.Do(t, unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts))
	return ts.Nano()
}

func TestUsage(t *testing.T) {
	// Three million steps of a shell loop take long enough to be counted and touch next to no
	// memory.
	run := mustSucceed(t, shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
	must.Be(t, run.UTimeNS > 0 && run.UTimeNS+run.STimeNS <= run.WallNS*2, "user", run.UTimeNS,
		"system", run.STimeNS, run.WallNS)
	run = mustSucceed(t, Command{Path: "/bin/dd",
		Args: []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=96M", "count=1"}})
	must.Be(t, run.MaxRSSBytes >= 96<<20 && run.MaxRSSBytes <= 200<<20 && run.MaxRSSFloorBytes > 0 &&
		run.MaxRSSFloorBytes <= run.MaxRSSBytes, "resident", run.MaxRSSBytes, "floor", run.MaxRSSFloorBytes)
	d := run.Daemon
	must.Be(t, d.RSSBytes > 0 && d.RSSBeforeBytes > 0 && d.CPUNS > 0, "daemon", d)
}
