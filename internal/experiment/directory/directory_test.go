package directory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

const dir = "/x/warmup.krun"

func TestFor(t *testing.T) {
	for config, want := range map[string]string{
		"/x/warmup.toml": "/x/warmup.krun", "warmup.toml": "warmup.krun", "/x/a.b.toml": "/x/a.b.krun",
		"/x/warmup": "/x/warmup.krun", "/x/toml": "/x/toml.krun",
	} {
		must.Equal(t, For(config), want, "For")
	}
}

func TestPaths(t *testing.T) {
	f := must.Get(Create(crashfs.New("/x"), dir))(t)
	for got, want := range map[string]string{
		f.Dir(): dir, f.Schedule(): dir + "/schedule", f.Results(): dir + "/results", f.Journal(): dir +
			"/journal",
		f.Log(): dir + "/log", f.ConfigCopy(): dir + "/config.toml",
		f.Fingerprint(): dir + "/fingerprint.json", f.Noise(): dir + "/noise.json",
	} {
		must.Equal(t, got, want)
	}
}

// TestCreateCut: after a power cut at any point, Create can be called again; once it has returned,
// the directory persists.
func TestCreateCut(t *testing.T) {
	build := func() *crashfs.FS { return crashfs.New("/x") }
	program := func(fsys *crashfs.FS) error {
		_, err := Create(fsys, dir)
		return err
	}
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(1)...) {
		_, err := Open(after, dir)
		must.Be(t, cut.Err != nil || err == nil, cut, err)
		must.Do(t, program(after), cut, "again")
		must.Get(Open(after, dir))(t, cut)
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	fsys := crashfs.New(dir)
	fsys.Put(dir+"/config.toml", []byte("precious"))
	must.Get(Create(fsys, dir))(t)
	got := fsys.Files()[dir+"/config.toml"]
	must.Equal(t, string(got), "precious", "got", got)
}

func TestOpenRefused(t *testing.T) {
	file := crashfs.New("/x")
	file.Put(dir, nil)
	results := crashfs.New("/x")
	results.Put(dir+"/results", nil)
	lost := crashfs.New(dir)
	lost.Put(dir+"/schedule", nil)
	unreadable := crashfs.New(dir + "/results")
	unreadable.FailReads(dir, syscall.EIO)
	tests := []struct {
		name string
		fsys *crashfs.FS
		is   error
		want string
	}{
		{"absent", crashfs.New("/x"), fs.ErrNotExist, "no experiment at " + dir},
		{"half made", crashfs.New(dir), fs.ErrNotExist, "no experiment at " + dir},
		{"records lost", lost, ErrNoResults, dir + ": the directory results is missing"},
		{"a file", file, nil, dir + " is not a directory, but an experiment needs a directory"},
		{"results a file", results, nil, dir + "/results is not a directory, but an experiment"},
		{"unreadable", unreadable, syscall.EIO, "open the experiment's directory"},
	}
	for _, test := range tests {
		_, err := Open(test.fsys, dir)
		must.Be(t, err != nil && strings.Contains(err.Error(), test.want) && (test.is == nil ||
			errors.Is(err, test.is)), test.name, err)
		must.Equal(t, test.fsys.Ops(), 0, test.name, "Open has changed something")
	}
	_, err := Create(crashfs.New(), dir)
	must.Fail(t, err, fs.ErrNotExist, "Create without a parent")
	_, err = Create(lost, dir)
	must.Be(t, errors.Is(err, ErrNoResults) && lost.Ops() == 0, "Create with the records lost", err)
	must.Refused(Create(file, dir))(t, "create the experiment's directory", "Create over a file")
	full := crashfs.New("/x")
	full.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true})
	_, err = Create(full, dir)
	must.Fail(t, err, syscall.ENOSPC, "Create on a full disk")
}

func TestClean(t *testing.T) {
	fsys := crashfs.New(dir + "/results")
	left := []string{dir + "/schedule.tmp", dir + "/results/0000001-001.json.gz.tmp1"}
	for _, name := range append(left, dir+"/schedule", dir+"/results/0000000-001.json.gz") {
		fsys.Put(name, nil)
	}
	f := must.Get(Open(fsys, dir))(t)
	removed, err := f.Clean()
	must.Be(t, err == nil && slices.Equal(removed, left) && len(fsys.Survivor(crashfs.Nothing).Files()) == 2,
		"removed", removed, err)
	fsys.Put(left[0], nil)
	fsys.Inject(crashfs.Fault{Err: syscall.EIO})
	_, err = f.Clean()
	must.Fail(t, err, syscall.EIO)
}

// TestOpenThroughLink: the path of the directory may be a link.
func TestOpenThroughLink(t *testing.T) {
	base := t.TempDir()
	target, link := filepath.Join(base, "real.krun"), filepath.Join(base, "link.krun")
	must.Get(Create(durable.OS(), target))(t)
	must.Do(t, os.Symlink(target, link))
	f := must.Get(Open(durable.OS(), link))(t)
	must.Do(t, f.Check())
}

func TestLock(t *testing.T) {
	systems := map[string]struct {
		fsys durable.FS
		dir  string
	}{
		"system":    {durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")},
		"simulated": {crashfs.New("/x"), dir},
	}
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			f, err := Create(system.fsys, system.dir)
			must.Do(t, err)
			pid := os.Getpid()
			lock := must.Get(f.Lock(pid, "bencher7.example.org"))(t)
			_, err = f.Lock(12, "other")
			var locked *LockedError
			must.Be(t, errors.As(err, &locked) && locked.PID == pid &&
				locked.Host == "bencher7.example.org" && errors.Is(err, durable.ErrLocked), "second lock",
				err)
			for _, part := range []string{system.dir, strconv.Itoa(pid), "bencher7.example.org",
				"krunctl status"} {
				must.Contain(t, err.Error(), part)
			}
			must.Do(t, lock.Release())
			lock, err = f.Lock(pid, "b") // shorter than the previous holder
			must.Do(t, err)
			if _, err = f.Lock(13, "c"); !errors.As(err, &locked) || locked.PID != pid || locked.Host != "b" {
				t.Errorf("third lock: %v", err)
			}
			must.Do(t, lock.Release())
		})
	}
}

// TestLockWait: a waiter gets the lock when the holder releases it, and not before.
func TestLockWait(t *testing.T) {
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	first := must.Get(f.Lock(1, "a"))(t)
	turn := make(chan *Lock)
	go func() {
		lock, err := f.LockWait(2, "b")
		must.Be(t, err == nil, err)
		turn <- lock
	}()
	select {
	case <-turn:
		t.Fatal("two have the lock")
	default:
	}
	must.Do(t, first.Release())
	second := <-turn
	_, err := f.Lock(3, "c")
	must.Fail(t, err, durable.ErrLocked, "the waiting process has no lock")
	must.Do(t, second.Release())
}

func TestLockAfterPowerCut(t *testing.T) {
	fsys := crashfs.New("/x")
	f := must.Get(Create(fsys, dir))(t)
	must.Get(f.Lock(1, "a"))(t)
	f = must.Get(Open(fsys.Reboot(crashfs.Everything), dir))(t)
	must.Get(f.Lock(2, "a"))(t)
}

// TestLockOpening: the error says why the file cannot be opened or locked, and what to do.
func TestLockOpening(t *testing.T) {
	for reason, want := range map[error]string{
		syscall.EROFS:         "read-only; krund must write there",
		syscall.EACCES:        "run krund as the owner of the directory or as root",
		errors.ErrUnsupported: "does not support locks",
		syscall.EIO:           "lock " + dir,
	} {
		fsys := crashfs.New(dir + "/results")
		fsys.Inject(crashfs.Fault{Err: reason})
		f := must.Get(Open(fsys, dir))(t)
		_, err := f.Lock(1, "a")
		must.Be(t, errors.Is(err, reason) && strings.Contains(err.Error(), want), reason, "got", err)
	}
	f := Directory{fsys: noLocks{crashfs.New(dir)}, dir: dir}
	_, err := f.Lock(1, "a")
	must.Be(t, errors.Is(err, errors.ErrUnsupported) &&
		strings.Contains(err.Error(), "does not support locks"), "no locks", err)
}

// noLocks is a file system whose files cannot be locked.
type noLocks struct{ durable.FS }

func (n noLocks) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := n.FS.OpenFile(name, flag, perm)
	return noLock{f}, err
}

type noLock struct{ durable.File }

func (noLock) TryLock() error { return errors.ErrUnsupported }

func TestParseHolder(t *testing.T) {
	tests := []struct {
		text string
		pid  int
		host string
	}{
		{string(formatHolder(17, "a")), 17, "a"},
		{string(formatHolder(17, strings.Repeat("h", 300))), 17, strings.Repeat("h", 252)},
		{"", 0, ""}, {"17", 0, ""}, {"17 ", 0, ""}, {"x a", 0, ""}, {"-1 a", 0, ""}, {"17 a b", 0, ""},
		{"\x00\x00 \x00", 0, ""},
	}
	for _, test := range tests {
		pid, host := parseHolder(test.text)
		must.Be(t, pid == test.pid && host == test.host, test.text, "got", pid, host)
	}
	must.Equal(t, len(formatHolder(1, "a")), holderBytes, "bytes")
	unknown := LockedError{Dir: dir}
	must.Contain(t, unknown.Error(), "another krund is running this experiment")
}

func TestJudge(t *testing.T) {
	const (
		file      = fs.FileMode(0o644)
		directory = fs.ModeDir | 0o755
		link      = fs.ModeSymlink | 0o777
		pipe      = fs.ModeNamedPipe | 0o600
	)
	tests := []struct {
		name          string
		mode          fs.FileMode
		owner, caller int
		wantDir       bool
		want          string // "" is fine
	}{
		{"root's file, by root", file, 0, 0, false, ""},
		{"root's directory, by root", directory, 0, 0, true, ""},
		{"own file", file, 1000, 1000, false, ""},
		{"root's file, by a user", file, 0, 1000, false, ""},
		{"a user's file, by root", file, 1000, 0, false,
			"belongs to user 1000, who could change it; `chown 0`"},
		{"another user's file", file, 1000, 1001, false, "belongs to user 1000"},
		{"writable by the group", 0o664, 0, 0, false,
			"can be changed by others besides its owner (mode 0664); `chmod go-w`"},
		{"writable by others", 0o646, 1000, 1000, false, "(mode 0646)"},
		{"directory writable by others", fs.ModeDir | fs.ModeSticky | 0o777, 0, 0, true, "(mode 0777)"},
		{"link, by root", link, 0, 0, false, "symbolic link"},
		{"link, by a user", link, 1000, 1000, false, ""},
		{"link for results, by root", link, 0, 0, true, "symbolic link"},
		{"pipe, by root", pipe, 0, 0, false, "neither a file nor a directory"},
		{"pipe, by a user", pipe, 1000, 1000, false, ""},
		{"another directory, by root", directory, 0, 0, false, ""},
		{"file for results, by root", file, 0, 0, true, "is not a directory"},
	}
	for _, test := range tests {
		err := judge("/x/thing", test.mode, test.owner, test.caller, test.wantDir)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "/x/thing")):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestCheck runs on the real file system as the current user.
func TestCheck(t *testing.T) {
	f, err := Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun"))
	must.Do(t, err)
	must.Do(t, os.WriteFile(f.Schedule(), nil, 0o644))
	must.Do(t, f.Check())
	must.Do(t, os.Chmod(f.Schedule(), 0o666))
	must.Do(t, os.Chmod(f.Results(), 0o777))
	err = f.Check()
	must.Be(t, err != nil && strings.Contains(err.Error(), f.Schedule()+" can be changed") &&
		strings.Contains(err.Error(), f.Results()+" can be changed"), err)
	must.Do(t, os.Chmod(f.Schedule(), 0o644))
	must.Do(t, os.Chmod(f.Results(), 0o755))
	must.Do(t, os.Chmod(f.Dir(), 0o757))
	must.Refuse(t, f.Check(), f.Dir()+" can be changed by others")
	must.Do(t, os.Chmod(f.Dir(), 0o755))
	must.Do(t, os.Symlink("/etc/passwd", f.Log()))
	must.Refuse(t, f.check(0), f.Log()+" is a symbolic link", "link")
	absent := Directory{fsys: durable.OS(), dir: "/none"}
	must.Fail(t, absent.Check(), fs.ErrNotExist, "absent")
}

// TestCheckSimulated: simulated files have no owner and count as the caller's.
func TestCheckSimulated(t *testing.T) {
	f := must.Get(Create(crashfs.New("/x"), dir))(t)
	must.Do(t, f.check(1000))
	must.Do(t, f.check(0))
}

// TestLockMachine: only one holder at a time, in the first existing directory.
func TestLockMachine(t *testing.T) {
	fsys := crashfs.New("/run")
	lock := must.Get(LockMachine(fsys, "/x/other.krun", "/nowhere", "/run"))(t)
	_, err := LockMachine(fsys, "/x/other.krun", "/run")
	must.Be(t, errors.Is(err, ErrBusy) && strings.Contains(err.Error(), "/run/krund/lock"), "a second one",
		err)
	must.Do(t, lock.Release())
	lock = must.Get(LockMachine(fsys, "/x/other.krun", "/run"))(t)
	must.Do(t, lock.Release())
	_, err = LockMachine(fsys, "/x/other.krun", "/nowhere")
	must.Fail(t, err, fs.ErrNotExist, "no directory for it")
}

// FuzzHolder parses the text of a lock file, which is printed when a second krund starts.
func FuzzHolder(f *testing.F) {
	for _, text := range []string{
		"", "4711 bencher7\n", "-1 x", "1 a b", "99999999999999999999 x", "7 \x1b[2J", "7 \u202ehost",
		"7 \xff",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pid, host := parseHolder(text)
		must.Be(t, pid >= 0 && (pid == 0) == (host == ""), text, "process", pid, "on", host)
		odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) }
		must.Be(t, !strings.ContainsFunc(host, odd), text, "a host of the name", host)
		again := string(formatHolder(pid, host))
		must.Equal(t, len(again), holderBytes, "is of", "bytes")
		// a long one is truncated
		if p, h := parseHolder(again); p != pid || h != host && len(host) < holderBytes/2 {
			t.Errorf("%q: process %d on %q; written and read again %d, %q", text, pid, host, p, h)
		}
	})
}

// FuzzListsLock searches arbitrary text for a lock.
func FuzzListsLock(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0 EOF\n", 4711)
	f.Add("1: -> FLOCK  ADVISORY  WRITE 4712 08:01:1312 0 EOF\n", 4712)
	f.Fuzz(func(t *testing.T, list string, pid int) {
		must.Be(t, !listsLock(list, pid) || strings.Contains(list, "FLOCK"), "process", pid, "in", list)
	})
}

func TestLastHolder(t *testing.T) {
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	pid, host := f.LastHolder()
	must.Be(t, pid == 0 && host == "", "not locked yet", pid, host)
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	pid, host = f.LastHolder()
	must.Be(t, pid == os.Getpid() && host == "bencher7", "held", pid, host)
	must.Be(t, HoldsLock(durable.OS(), pid), "this process holds a lock")
	must.Do(t, lock.Release())
	pid, host = f.LastHolder()
	must.Be(t, pid == os.Getpid() && host == "bencher7", "released", pid, host)
	must.Do(t, os.WriteFile(f.holderFile(), []byte("nonsense"), 0o600))
	pid, _ = f.LastHolder()
	must.Equal(t, pid, 0, "nonsense")
}

func TestListsLock(t *testing.T) {
	const list = "1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 4712 " +
		"08:01:1312 0 EOF\n" +
		"2: POSIX  ADVISORY  READ 4713 08:01:4714 128 128\n3: FLOCK  ADVISORY  READ -1 08:01:7 0 EOF\n"
	for pid, want := range map[int]bool{4711: true, 4712: false, 4713: false, 4714: false, 471: false,
		7: false} {
		must.Equal(t, listsLock(list, pid), want, "process", pid)
	}
}

func TestRequests(t *testing.T) {
	fsys := crashfs.New("/x")
	asked, err := Asked(fsys, dir, Hold)
	must.Be(t, !asked && err == nil, "in a directory that is not there", asked, err)
	f := must.Get(Create(fsys, dir))(t)
	must.Do(t, f.Ask(Hold, "for a look"))
	must.Do(t, f.Ask(Hold, "twice"))
	must.Equal(t, string(fsys.Files()[dir+"/hold"]), "twice\n", "text")
	for request, want := range map[Request]bool{Hold: true, Stop: false} {
		asked, err := f.Asked(request)
		must.Be(t, asked == want && err == nil, request, asked, err, "want", want)
		was, err := f.Withdraw(request)
		must.Be(t, was == want && err == nil, "withdraw", request, was, err, "want", want)
	}
	asked, err = f.Asked(Hold)
	must.Be(t, !asked && err == nil, "after it was withdrawn", asked, err)
}

// TestRequestOnFullDisk: the request is made even if there is no room for its text.
func TestRequestOnFullDisk(t *testing.T) {
	for _, room := range []bool{true, false} { // for an empty file
		fsys := crashfs.New("/x")
		f, err := Create(fsys, dir)
		must.Do(t, err)
		fsys.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true,
			Match: func(op crashfs.Op) bool { return !room || op.Kind == crashfs.Write }})
		err = f.Ask(Stop, "for a look")
		if asked, askedErr := f.Asked(Stop); asked != room || askedErr != nil || (err == nil) != room {
			t.Errorf("room for an empty file %t: error %v, asked %t, %v", room, err, asked, askedErr)
		}
		must.Be(t, err == nil || errors.Is(err, syscall.ENOSPC), "error", err,
			"does not say that the disk is full")
		n := len(fsys.Files())
		must.Be(t, (!room || n == 1) && (room || n <= 1), n, "files: something is left over")
	}
}

// TestRequestCut: a power cut does not undo a request that was made or withdrawn.
func TestRequestCut(t *testing.T) {
	for _, test := range []struct {
		name    string
		program func(Directory) error
		want    bool
	}{
		{"made", func(f Directory) error { return f.Ask(Stop, "") }, true},
		{"withdrawn", func(f Directory) error {
			_, err := f.Withdraw(Hold)
			return err
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			build := func() *crashfs.FS {
				fsys := crashfs.New("/x")
				f := must.Get(Create(fsys, dir))(t)
				must.Do(t, f.Ask(Hold, ""))
				return fsys
			}
			program := func(fsys *crashfs.FS) error {
				f := must.Get(Open(fsys, dir))(t)
				return test.program(f)
			}
			request := map[bool]Request{true: Stop, false: Hold}[test.want]
			done := 0
			for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(1)...) {
				if cut.Err != nil {
					continue
				}
				done++
				there, err := Asked(after, dir, request)
				must.Be(t, there == test.want && err == nil, cut, request, "there", there, err)
			}
			must.Be(t, done != 0, "it never came to its end")
		})
	}
}
