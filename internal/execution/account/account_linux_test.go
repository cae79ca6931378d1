package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// partName is Args[0] of a copy of the test binary that runs partFresh.
const partName = "krund-test-fresh"

func TestMain(m *testing.M) {
	Stage()
	if os.Args[0] == partName {
		os.Exit(partFresh())
	}
	os.Exit(m.Run())
}

// checkDead fails the test if a process of the machine has marker among its arguments.
func checkDead(t *testing.T, marker string) {
	t.Helper()
	files := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, f := range files {
		text, err := os.ReadFile(f)
		must.Be(t, err != nil || !bytes.Contains(text, []byte(marker)), "still alive", f, text)
	}
}

// newMarker returns an argument for sleep(1) that no other process uses and that outlasts the test.
func newMarker(n int) string { return fmt.Sprintf("%d.%d", 100000+os.Getpid(), n) }

// testMachine is a tree with a user database that the real tools work on.
func testMachine(t *testing.T, passwd string) maker {
	t.Helper()
	needRoot(t)
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/passwd": rootLine + passwd, "etc/group": "root:x:0:\n", "etc/shadow": "root:*:1:0:99999:7:::\n",
		"etc/gshadow": "root:*::\n", "etc/login.defs": "UID_MIN 1000\nUID_MAX 60000\nGID_MIN 1000\n" +
			"GID_MAX 60000\nUSERGROUPS_ENAB yes\n",
		"etc/subuid": "", "etc/subgid": "", "etc/skel/.profile": "skeleton", "tmp/others": "",
	} {
		must.Write(t, filepath.Join(root, name), text)
	}
	m := newMaker(root)
	if err := callTool(t.Context(), []string{"useradd", "--help"}); err != nil {
		t.Skip(err)
	}
	m.call = func(ctx context.Context, argv []string) error {
		return callTool(ctx, slices.Insert(slices.Clone(argv), 1, "--prefix", root))
	}
	// the numbers are those of the real machine's users
	m.kill = func(context.Context, Account) error { return nil }
	m.objects = func(int) (int, error) { return 0, nil }
	return m
}

func (m maker) text(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(m.path(name)))(t)
	return string(text)
}

// leave creates a file at name that belongs to the account.
func (m maker) leave(t *testing.T, a Account, name string) {
	t.Helper()
	must.Do(t, os.WriteFile(m.path(name), []byte("x"), 0o600))
	must.Do(t, os.Lchown(m.path(name), a.UID, a.GID))
}

func mustFresh(t *testing.T, m maker) (Account, []string) {
	t.Helper()
	a, findings := must.Get2(m.fresh(t.Context()))(t)
	home := m.path(a.Home)
	info := must.Get(os.Stat(home))(t)
	if owner, _ := ownerOf(info); owner != a.UID || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("home: owner %d, mode %v, account %+v", owner, info.Mode(), a)
	}
	list, err := os.ReadDir(home)
	must.Be(t, err == nil && len(list) == 0, "home is not empty", list, err)
	must.Be(t, a.Name == "krun" && a.UID >= 1000 && a.GID >= 1000 && a.Own, "account", a)
	return a, findings
}

func TestFreshAccount(t *testing.T) {
	m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
	first, findings := mustFresh(t, m)
	must.Equal(t, len(findings), 0, "findings")
	m.leave(t, first, accountHome+"/secret")
	m.leave(t, first, "/tmp/left")
	second, findings := mustFresh(t, m)
	must.Be(t, second.UID == first.UID && second.GID == first.GID, first, second)
	must.Be(t, len(findings) == 1 && findings[0] == "removed 1 files that the last benchmark left in /tmp",
		"findings", findings)
	must.Get(os.Stat(m.path("/tmp/others")))(t)
	must.Equal(t, m.text(t, "/etc/subuid"), "", "subuid")
	s := m.text(t, "/etc/passwd")
	must.Be(t, strings.Count(s, "\nkrun:") == 1 && strings.Contains(s, "anna:"), "passwd", s)
}

func TestRemoveAccount(t *testing.T) {
	m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
	before := m.text(t, "/etc/passwd") + m.text(t, "/etc/group")
	a, _ := mustFresh(t, m)
	m.leave(t, a, accountHome+"/secret")
	m.leave(t, a, "/tmp/left")
	m.objects = func(uid int) (int, error) {
		must.Equal(t, uid, a.UID, "objects of user", "are removed")
		return 2, errors.New("a third one cannot be")
	}
	want := []string{
		"removed 1 files that the last benchmark left in /tmp",
		"removed 2 System V objects (shared memory, semaphores, message queues) of the last benchmark",
		"System V objects of the last benchmark are left: a third one cannot be",
	}
	findings, err := m.remove(t.Context())
	must.Be(t, err == nil && slices.Equal(findings, want), "findings", findings, err, "want", want)
	must.Equal(t, m.text(t, "/etc/passwd")+m.text(t, "/etc/group"), before, "the user database was")
	for _, name := range []string{accountHome, "/tmp/left"} {
		_, err := os.Lstat(m.path(name))
		must.Fail(t, err, fs.ErrNotExist, name, "is still there")
	}
	findings, err = m.remove(t.Context())
	must.Be(t, len(findings) == 0 && err == nil, "with no account there", findings, err)
}

func TestRemoveForeignAccount(t *testing.T) {
	const person = "krun:x:1000:1000:Karl Run:/home/krun:/bin/sh\n"
	m := testMachine(t, person)
	m.scratch = nil
	findings, err := m.remove(t.Context())
	must.Be(t, len(findings) == 0 && err == nil, findings, err)
	must.Contain(t, m.text(t, "/etc/passwd"), person, "the account is gone")
}

func TestForeignIsNotTouched(t *testing.T) {
	const person = "krun:x:1000:1000:Karl Run:/home/krun:/bin/sh\n"
	for name, prepare := range map[string]func(m maker) error{
		"account": func(m maker) error {
			return os.WriteFile(m.path("/etc/passwd"), []byte(rootLine+person), 0o644)
		},
		"home": func(m maker) error { return os.MkdirAll(m.path("/home/krun/thesis"), 0o755) },
		"home of krund's account": func(m maker) error {
			err := os.WriteFile(m.path("/etc/passwd"), []byte(rootLine+ownLine), 0o644)
			return errors.Join(err, os.MkdirAll(m.path("/home"), 0o755),
				os.Symlink("/etc", m.path("/home/krun")))
		},
		"group": func(m maker) error {
			return os.WriteFile(m.path("/etc/group"), []byte("root:x:0:\nkrun:x:1000:anna\n"), 0o644)
		},
	} {
		m := testMachine(t, "")
		m.scratch = nil
		must.Do(t, prepare(m))
		before := m.text(t, "/etc/passwd") + m.text(t, "/etc/group")
		a, _, err := m.fresh(t.Context())
		must.Fail(t, err, ErrForeign, name, a)
		must.Equal(t, m.text(t, "/etc/passwd")+m.text(t, "/etc/group"), before, name,
			"the user database was changed to")
		_, err = os.Lstat(m.path("/home/krun/thesis"))
		must.Be(t, name != "home" || err == nil, err)
	}
}

// TestAccountInterrupted ends at each call of a tool, before and after its work, and in between as
// far as can be, and then starts anew.
func TestAccountInterrupted(t *testing.T) {
	cut := errors.New("the power failed")
	for name, damage := range map[string]func(t *testing.T, m *maker){
		"before userdel": func(_ *testing.T, m *maker) {
			m.call = func(context.Context, []string) error { return cut }
		},
		"after userdel": func(_ *testing.T, m *maker) {
			call := m.call
			m.call = func(ctx context.Context,
				argv []string) error {
				return errors.Join(call(ctx, argv), cut)
			}
		},
		"after useradd": func(_ *testing.T, m *maker) {
			call := m.call
			m.call = func(ctx context.Context, argv []string) error {
				err := call(ctx, argv)
				if argv[0] == "useradd" {
					err = errors.Join(err, cut)
				}
				return err
			}
		},
		"in userdel, the group is left": func(t *testing.T, m *maker) {
			call := m.call
			m.call = func(ctx context.Context, argv []string) error {
				group := m.text(t, "/etc/group")
				return errors.Join(call(ctx, argv),
					os.WriteFile(m.path("/etc/group"), []byte(group), 0o644), cut)
			}
		},
	} {
		m := testMachine(t, "")
		first, _ := mustFresh(t, m)
		m.leave(t, first, accountHome+"/secret")
		damaged := m
		damage(t, &damaged)
		a, _, err := damaged.fresh(t.Context())
		must.Fail(t, err, cut, name, "got", a)
		a, _ = mustFresh(t, m)
		must.Be(t, a.UID == first.UID && a.GID == first.GID, name, "was", first, a)
	}
}

// TestHomeHalfMade has the power fail between the creation of the home and the change of its owner.
func TestHomeHalfMade(t *testing.T) {
	m := testMachine(t, ownLine)
	must.Do(t, os.MkdirAll(m.path(accountHome), 0o700))
	a, _ := mustFresh(t, m)
	must.Equal(t, a.UID, 1003, "got", a)
}

func TestStaleLocks(t *testing.T) {
	m := testMachine(t, "")
	old := time.Now().Add(-1000 * time.Hour)
	locks := map[string]string{ // all of them by this process, which began later than some
		"/etc/passwd.lock": strconv.Itoa(os.Getpid()), "/etc/shadow.lock": strconv.Itoa(os.Getpid()) + "\x00",
	}
	for name, text := range locks {
		must.Do(t, os.WriteFile(m.path(name), []byte(text), 0o600))
		must.Do(t, os.Chtimes(m.path(name), old, old))
	}
	live := m.path("/etc/group.lock")
	must.Do(t, os.WriteFile(live, []byte(strconv.Itoa(os.Getpid())), 0o600))
	must.Do(t, m.removeStaleLocks())
	for name := range locks {
		must.Refused(os.Stat(m.path(name)))(t, "", name, "is still there")
	}
	must.Get(os.Stat(live))(t, "a lock that holds was removed")
	must.Do(t, os.Remove(live))
	mustFresh(t, m)
}

func TestTools(t *testing.T) {
	must.Refuse(t, callTool(t.Context(), []string{"krund-no-such-tool"}), "install krund-no-such-tool")
	must.Do(t, callTool(t.Context(), []string{"sh", "-c", "sleep 5 & true"}),
		"a tool that leaves a helper behind")
	must.Refuse(t, callTool(t.Context(), []string{"ls", "/nonexistent"}), "No such file")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	must.Fail(t, callTool(ctx, []string{"sleep", "100000"}), context.DeadlineExceeded)
}

func TestFreshWithoutRoot(t *testing.T) {
	needRoot(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Dir, cmd.Env = []string{partName}, "/", []string{"GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != `{"Name":"","UID":0,"GID":0,"Home":"","Own":false}`+"\n"+
		"[no fresh account: krund is not root, so the benchmark runs as user 65534]\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// partFresh prints what Fresh returns to an ordinary user.
func partFresh() int {
	if os.Geteuid() == 0 {
		return 1 // never in earnest
	}
	a, findings, err := Fresh(context.Background(), 0)
	if err != nil || json.NewEncoder(os.Stdout).Encode(a) != nil {
		return 1
	}
	fmt.Fprintln(os.Stdout, findings)
	return 0
}

func TestKillUser(t *testing.T) {
	needRoot(t)
	marker, other := newMarker(1), newMarker(2)
	start := func(uid uint32, line string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", "cd /; echo in; "+line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid},
			Setsid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = out.Read(make([]byte, 3))
		}
		must.Do(t, err)
		return cmd
	}
	bystander := start(testUID+1, "exec sleep "+other)
	victim := start(testUID, "trap '' TERM; sleep "+marker+" & sleep "+marker)
	reaped := make(chan error, 1)
	go func() { reaped <- victim.Wait() }()
	must.Do(t, killUser(t.Context(), Account{UID: testUID, GID: testUID, Own: true}))
	checkDead(t, marker)
	must.Refuse(t, <-reaped, "", "the shell was not killed")
	left := userProcesses(testUID)
	must.Equal(t, len(left), 0, "processes", left, "are left")
	must.Do(t, bystander.Process.Kill(), "another user's process was killed")
	_ = bystander.Wait() // killed
	for _, a := range []Account{{}, {UID: testUID}, {Own: true}, {UID: -1, Own: true}} {
		must.Refuse(t, killUser(t.Context(), a), "", a, "would kill")
	}
}

// TestHomeInMemory: it is bounded in bytes and in files, empty for each execution, and gone with
// the account.
func TestHomeInMemory(t *testing.T) {
	m := testMachine(t, "")
	m.home = 1 << 20
	t.Cleanup(func() {
		must.Do(t, unmountHome(m.path(accountHome)))
	})
	if _, _, err := m.fresh(t.Context()); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	a, _ := mustFresh(t, m)
	var st unix.Statfs_t
	err := unix.Statfs(m.path(accountHome), &st)
	must.Be(t, err == nil && st.Type == unix.TMPFS_MAGIC && st.Files == 256, "type", st.Type, st.Files,
		"files", err)
	err = os.WriteFile(m.path(accountHome+"/big"), make([]byte, 2<<20), 0o600)
	must.Fail(t, err, unix.ENOSPC, "more than its size")
	digOwned(t, m.path(accountHome), 100, a.UID)
	mustFresh(t, m) // which checks that it is empty
	m.home = 0
	mustFresh(t, m)
	err = unix.Statfs(m.path(accountHome), &st)
	must.Be(t, err == nil && st.Files != 256, "without the option: type", st.Type, st.Files, "files", err)
	m.home = 1 << 20
	mustFresh(t, m)
	must.Get(m.remove(t.Context()))(t)
	_, err = os.Lstat(m.path(accountHome))
	must.Fail(t, err, os.ErrNotExist, "still there")
}

// TestForeignHomeMount: what others have mounted there is not unmounted, and the account stays.
func TestForeignHomeMount(t *testing.T) {
	m := testMachine(t, "")
	mustFresh(t, m)
	home := m.path(accountHome)
	if err := unix.Mount("disk", home, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(home, unix.MNT_DETACH) })
	must.Do(t, os.WriteFile(home+"/kept", nil, 0o600))
	if _, _, err := m.fresh(t.Context()); err == nil {
		t.Error("no error")
	} else {
		t.Log(err)
	}
	must.Get(os.Lstat(home + "/kept"))(t)
}

func TestRemoveObjects(t *testing.T) {
	must.Root(t, "only root can give objects away")
	const uid, other = 4_100_001, 4_100_002 // unused
	var ids []int
	for _, owner := range []uint32{uid, uid, other} {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		desc := unix.SysvShmDesc{Perm: unix.SysvIpcPerm{Uid: owner, Mode: 0o600}}
		must.Get(unix.SysvShmCtl(id, unix.IPC_SET, &desc))(t)
		ids = append(ids, id)
	}
	removed, err := removeObjects(uid)
	must.Be(t, removed == 2 && err == nil, "removed", removed, err, "want 2")
	for i, want := range []bool{false, false, true} {
		var desc unix.SysvShmDesc
		_, err := unix.SysvShmCtl(ids[i], unix.IPC_STAT, &desc)
		must.Equal(t, (err == nil), want, "object", i, err, "want it there")
	}
	removed, err = removeObjects(uid)
	must.Be(t, removed == 0 && err == nil, "again", removed, err)
}
