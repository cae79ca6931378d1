package execution

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"krund/internal/execution/account"
	"krund/internal/experiment/config"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// TestBuild: a command works in a copy of the source, and what it leaves belongs to the caller. As
// root, it is run by an account that can write nowhere but in its home.
func TestBuild(t *testing.T) {
	for script, want := range map[string]string{
		`cp a "$0/vm"; chmod 755 "$0/vm"; rm a; (sleep 3600 &); echo made; id -u >&2`: "",
		`echo reason >&2; exit 3`:        "exit status 3: reason",
		`ln -s /etc/shadow "$0/vm"`:      "path escapes",
		`rmdir "$0"; ln -s "$1" "$0"`:    "path escapes",
		`ln "$1/hub.toml" "$0/vm"`:       "belongs to another account",
		`mkfifo "$0/vm"`:                 "no regular file",
		`mkdir -p "$0/x.krun/y"`:         "no files",
		`touch "$0/$(printf 'a\nb')"`:    "not allowed",
		`truncate -s 300M "$0/vm"`:       "more than",
		`kill -KILL $$`:                  "killed by SIGKILL",
		`touch "$0/vm"; exec sleep 3600`: "time limit of 1s",
	} {
		if strings.Contains(want, "another account") && os.Geteuid() != 0 {
			continue // it is the caller's
		}
		e, j := live(t, nativeVM, "source", "")
		dir := filepath.Dir(j.Entry)
		asOther(t, &e, &j, dir)
		source, into := filepath.Join(dir, "tree"), filepath.Join(dir, "into")
		must.Do(t, os.Mkdir(source, 0o755))
		must.Write(t, filepath.Join(source, "a"), "program")
		secret := t.TempDir()
		must.Write(t, filepath.Join(secret, "hub.toml"), "token")
		must.Do(t, os.Chmod(filepath.Join(secret, "hub.toml"), 0o666)) // so that it can be linked
		b := Build{Source: source, Into: into, Argv: []string{"sh", "-c", script, "{directory}", secret},
			Timeout: time.Hour, Account: j.Account, Scratch: t.TempDir()}
		if strings.Contains(want, "1s") {
			b.Timeout = time.Second
		}
		output, err := e.Build(t.Context(), b)
		must.Need(t, err == nil || want != "", script, err)
		if want != "" {
			must.Fail(t, err, ErrBuild, script)
			must.Refuse(t, err, want, script)
			continue
		}
		uid := j.Account.UID
		if j.Account.IsCaller() {
			uid = os.Getuid()
		}
		must.Equal(t, output, fmt.Sprintf("made\n%d\n", uid), script)
		info := must.Get(os.Stat(filepath.Join(into, "vm")))(t)
		must.Be(t, info.Mode() == 0o755 && info.Size() == 7, info)
		must.Get(os.Stat(filepath.Join(source, "a")))(t, "the source has changed")
	}
}

// The two objects of a benchmark: it prints, once, whether the first lies below the second.
const (
	firstObject = `#include <stdio.h>
void second(void);
void run_iter(int n) {
	static int said;
	if (said++) return;
	puts((void *)run_iter < (void *)second ? "first second" : "second first");
	fflush(stdout);
}
`
	secondObject = "void second(void) {}\n"
)

// TestRelinkedBenchmark links a benchmark of two objects with the script in configs/: the objects
// lie in both orders, the same for the same seed, and the record's hash is that of the file. As
// root, all of it is done by an account that can write nowhere but in its home.
func TestRelinkedBenchmark(t *testing.T) {
	e, j := live(t, nativeVM, "first.c", firstObject)
	script := must.Get(filepath.Abs("../../configs/relink.sh"))(t)
	dir := filepath.Dir(j.Entry)
	object(t, filepath.Join(dir, "first.c"), firstObject)
	object(t, filepath.Join(dir, "second.c"), secondObject)
	asOther(t, &e, &j, dir)
	hashes := map[string]string{} // by order
	for _, seed := range []uint32{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3} {
		again := j
		again.Layout = Layout{Mode: config.LayoutRandom, LinkSeed: seed}
		again.Relink = Relink{Argv: []string{script}, Timeout: time.Minute,
			Scratch: filepath.Join(dir, "scratch")}
		must.Do(t, e.Relink(t.Context(), &again))
		m := mustExecute(t, e, again)
		order, hash := strings.TrimSpace(m.Process.Stdout.Text), m.Layout.Relink.SHA256
		before, seen := hashes[order]
		must.Be(t, (!seen || before == hash) && len(hash) == 64, order, "has the hashes", before, "and", hash)
		must.Be(t, m.Process.Dir == dir && len(m.WallNS) == 6, len(m.WallNS), "iterations", m.Process.Dir)
		hashes[order] = hash
	}
	must.Be(t, len(hashes) == 2 && hashes["first second"] != hashes["second first"], "orders and hashes",
		hashes)
}

func object(t *testing.T, path, source string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(source), 0o644))
	cc := exec.CommandContext(t.Context(), runnertest.Compiler(t), "-w", "-c", "-fPIC", "-o",
		strings.TrimSuffix(path, ".c")+".o", path)
	out, err := cc.CombinedOutput()
	must.Do(t, err, out)
}

// asOther makes j run as another user with a home of its own, if this test is root, and the
// benchmark's directory one that this user cannot change.
func asOther(t *testing.T, e *Executor, j *Job, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const other = 64321
	home, err := os.MkdirTemp("", "krund-relink-")
	must.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	err = errors.Join(os.Chmod(scratch, 0o755), os.Chown(home, other, other))
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		err = errors.Join(err, os.Chmod(at, 0o755))
	}
	must.Do(t, err)
	j.Account = account.Account{Name: fmt.Sprint(other), UID: other, GID: other, Home: home}
	j.Root = true
	e.Installed.CallerHome = "/nonexistent"
}

// whereProgram prints, once, the address at which its stack began (proc_pid_stat(5), startstack).
const whereProgram = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void run_iter(int n) {
	static int said;
	char text[4096], *at;
	FILE *f;
	if (said++) return;
	f = fopen("/proc/self/stat", "r");
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	at = strrchr(text, ')');
	for (int i = 3; i <= 28; i++) at = strchr(at + 1, ' ');
	printf("%llu\n", strtoull(at, 0, 10));
	fflush(stdout);
}
`

// TestLayoutOfAProcess: whatever the system's randomization is, the stack begins at the same
// address for paths of different lengths, and lower by the offset.
func TestLayoutOfAProcess(t *testing.T) {
	where := func(file string, args []string, l Layout) int {
		t.Helper()
		e, j := live(t, nativeVM, file, whereProgram)
		j.Layout, j.VM.Env = l, args
		m := mustExecute(t, e, j)
		return must.Get(strconv.Atoi(strings.TrimSpace(m.Process.Stdout.Text)))(t, m.Process)
	}
	fixed := where("a.c", nil, Layout{Mode: config.LayoutFixed})
	for _, file := range []string{"a_longer_name.c", "bb.c"} {
		at := where(file, []string{"A=1", "B=" + file, "C="}, Layout{Mode: config.LayoutFixed})
		must.Equal(t, at, fixed, file, "the stack begins at", "before at")
	}
	at := where("ccc.c", []string{"X=y"}, Layout{Mode: config.LayoutRandom, Offset: 4080})
	must.Equal(t, at, fixed-4080, "the stack begins at", "- 4080")
}
