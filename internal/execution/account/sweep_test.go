package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// dig makes directories in each other below dir.
func dig(t *testing.T, dir string, levels int, name string) {
	t.Helper()
	at, err := openRoot(dir)
	for i := 0; err == nil && i < levels; i++ {
		above := at
		if err = unix.Mkdirat(above.fd(), name, 0o700); err == nil {
			at, err = above.open(name)
		}
		err = errors.Join(err, above.close())
	}
	if err = errors.Join(err, at.close()); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte("x"), 0o600))
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Lstat(name)
	must.Need(t, err == nil || errors.Is(err, fs.ErrNotExist), err)
	return err == nil
}

// mustRemove removes name and demands that n entries went.
func mustRemove(t *testing.T, name string, n int) {
	t.Helper()
	removed, err := removeTree(t.Context(), name)
	must.Be(t, removed == n && err == nil, "removed", removed, err, "want", n)
	must.Be(t, !exists(t, name), name, "is still there")
}

// top makes a directory to be removed, which does not slow the test's own cleaning.
func top(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "top")
	must.Do(t, os.Mkdir(dir, 0o755))
	return dir
}

func TestDeep(t *testing.T) {
	for _, levels := range []int{1, maxOpen - 2, maxOpen - 1, maxOpen, 3*maxOpen + 7,
		must.Often(5000, 45_000)} {
		dir := top(t)
		dig(t, dir, levels, "d")
		mustRemove(t, dir, levels+1)
	}
}

func TestManyFiles(t *testing.T) {
	files := must.Often(10_000, 40_000)
	dir := top(t)
	at := must.Get(openRoot(dir))(t)
	for i := range files {
		must.Do(t, unix.Mknodat(at.fd(), fmt.Sprintf("file-%d", i), unix.S_IFREG|0o600, 0))
	}
	must.Do(t, at.close())
	mustRemove(t, dir, files+1)
}

// TestFewDescriptors: it needs no more than what it begins with and a few for the way.
func TestFewDescriptors(t *testing.T) {
	dir := top(t)
	dig(t, dir, 2000, "d")
	var before unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	low := before
	low.Cur = uint64(openFiles(t)) + 8
	must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	removed, err := removeTree(t.Context(), dir)
	must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	must.Be(t, removed == 2001 && err == nil, "removed", removed, err)
}

// openFiles is the number above every open descriptor.
func openFiles(t *testing.T) int {
	t.Helper()
	fd := must.Get(unix.Dup(0))(t)
	must.Do(t, unix.Close(fd))
	return fd
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir, outside := top(t), t.TempDir()
	write(t, filepath.Join(outside, "kept/file"))
	write(t, filepath.Join(dir, "sub/file"))
	for _, link := range []string{"link", "sub/link"} {
		must.Do(t, os.Symlink(outside, filepath.Join(dir, link)))
	}
	must.Do(t, os.Symlink(outside, dir+".link"))
	mustRemove(t, dir, 5)
	mustRemove(t, dir+".link", 1) // the link itself
	must.Be(t, exists(t, filepath.Join(outside, "kept/file")), "a link was followed")
}

// TestSwapped replaces a directory by a link to another one, at each moment between two calls.
func TestSwapped(t *testing.T) {
	for name, swapAt := range map[string]func(w *walk, in *frame, swap func()){
		"before it is opened": func(w *walk, in *frame, swap func()) { swap(); w.enter(in, "victim", true) },
		"while it is open":    func(w *walk, in *frame, swap func()) { w.enter(in, "victim", true); swap() },
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := top(t), t.TempDir()
			write(t, filepath.Join(outside, "kept"))
			write(t, filepath.Join(dir, "victim/file"))
			d := must.Get(openRoot(dir))(t)
			st := must.Get(d.stat())(t)
			w := &walk{ctx: t.Context(), name: dir, uid: anyone, mark: "mark"}
			w.push(frame{directory: d, device: deviceOf(st)})
			swapAt(w, &w.stack[0], func() {
				victim := filepath.Join(dir, "victim")
				must.Do(t, errors.Join(os.Rename(victim, victim+".moved"), os.Symlink(outside, victim)))
			})
			w.run()
			must.Be(t, exists(t, filepath.Join(outside, "kept")), "the link was followed")
			must.Get(removeTree(t.Context(), dir))(t)
		})
	}
}

// TestSwappedAgainAndAgain is the same with a process that does nothing else.
func TestSwappedAgainAndAgain(t *testing.T) {
	dir, outside := top(t), t.TempDir()
	write(t, filepath.Join(outside, "kept"))
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprint(i), "sub/file"))
	}
	hostile := must.Get(os.OpenRoot(dir))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprint(i % 50)
			_ = hostile.Rename(name, "x") // whatever works
			_ = hostile.Symlink(outside, name)
			_ = hostile.Remove(name)
			_ = hostile.Rename("x", name)
		}
	}()
	_, _ = removeTree(ctx, dir) // it may well lose
	cancel()
	<-ended
	must.Do(t, hostile.Close())
	must.Be(t, exists(t, filepath.Join(outside, "kept")), "a link was followed")
	_, err := removeTree(t.Context(), dir)
	must.Be(t, err == nil && !exists(t, dir), "with all calm", err)
}

// TestMarkIsNotGuessed: names like those that the walk gives are removed as any other.
func TestMarkIsNotGuessed(t *testing.T) {
	dir := top(t)
	for i := range 4 {
		write(t, filepath.Join(dir, fmt.Sprintf(".krund-AAAAAAAAAAAAAAAAAAAAAAAAAA-%d", i)))
	}
	dig(t, dir, maxOpen+5, ".krund-1")
	mustRemove(t, dir, 1+4+maxOpen+5)
}

func TestEnds(t *testing.T) {
	dir := top(t)
	write(t, filepath.Join(dir, "sub/file"))
	why := errors.New("out of time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	n, err := removeTree(ctx, dir)
	must.Be(t, n == 0 && errors.Is(err, why) && exists(t, filepath.Join(dir, "sub/file")), "removed", n, err)
	for _, absent := range []string{filepath.Join(dir, "absent"), filepath.Join(dir, "absent/below")} {
		n, err := removeTree(t.Context(), absent)
		must.Be(t, n == 0 && err == nil, absent, "removed", n, err)
		n, err = removeOwned(t.Context(), absent, 0)
		must.Be(t, n == 0 && err == nil, absent, "removed", n, err)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("d/", 60_000)
	w := &walk{name: long}
	w.fail(long, unix.EMFILE)
	text := w.failed.Error()
	must.Be(t, len(text) <= 500 && errors.Is(w.failed, unix.EMFILE), len(text), "bytes")
	must.Equal(t, shorten("a\nb \xff"), `a\nb \xff`)
}
