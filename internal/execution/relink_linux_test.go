package execution

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/execution/account"
	"krund/internal/experiment/config"
	"krund/rig/must"
	"krund/runners/runnertest"
)

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
