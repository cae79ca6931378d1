package foreign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"krund/rig/must"
)

func TestHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	must.Do(t, os.WriteFile(path, []byte("abc"), 0o644))
	// sha256sum of "abc", FIPS 180-2 appendix B.1.
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	got, err := Hash(t.Context(), path)
	must.Be(t, got == want && err == nil, got, err)
	_, err = Hash(t.Context(), path+"-none")
	must.Fail(t, err, os.ErrNotExist, "a missing file")
	link := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(path, link))
	got, err = Hash(t.Context(), link)
	must.Be(t, got == want && err == nil, "by a link", got, err)
	for name := range map[string]bool{"/proc/self/exe": true, os.Args[0]: true} { // of a disk, both
		_, err := os.Stat(name)
		must.Be(t, err != nil || Check(name) == nil, name, Check(name))
	}
}

// TestHostile: the owner of a file may replace it with anything, and a configuration may name any
// file. Nothing waits for it.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	fifo, sparse := filepath.Join(dir, "fifo"), filepath.Join(dir, "sparse")
	must.Do(t, syscall.Mkfifo(fifo, 0o644))
	must.Do(t, os.WriteFile(sparse, nil, 0o644))
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Skipf("no file of a terabyte here: %v", err)
	}
	for path, want := range map[string]string{dir: "not a regular file", fifo: "not a regular file",
		"/dev/zero": "not a regular file", sparse: "larger than", "/proc/self/status": "of the kernel",
		"/proc/kmsg": "of the kernel", "/sys/kernel/notes": "of the kernel",
		"/sys/fs/cgroup/cgroup.procs":           "of the kernel",
		"/sys/kernel/debug/tracing/trace_pipe":  "of the kernel",
		"/sys/kernel/tracing/trace_pipe":        "of the kernel",
		"/sys/kernel/config/nullb/features":     "of the kernel",
		"/sys/kernel/security/lsm":              "of the kernel",
		"/proc/sys/fs/binfmt_misc/register":     "of the kernel",
		"/proc/self/task/../../self/mountstats": "of the kernel",
	} {
		if _, err := os.Stat(path); err != nil {
			continue // not on this machine, or not for this user
		}
		must.Refused(Hash(t.Context(), path))(t, want, path)
	}
}

// TestInterrupted: a signal ends the hashing of a large file, and of one that never answers.
func TestInterrupted(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(large, nil, 0o644), os.Truncate(large, mostHashed)); err != nil {
		t.Skipf("no file of 4 GiB here: %v", err)
	}
	why := errors.New("SIGTERM")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := Hash(ctx, large)
	must.Fail(t, err, why)
	ctx, cancel = context.WithCancelCause(t.Context())
	asked, never := make(chan bool), make(chan bool)
	go func() { <-asked; cancel(why) }()
	_, err = Within(ctx, func() int {
		asked <- true
		<-never
		return 1
	})
	must.Fail(t, err, why, "what does not answer")
	close(never)
}
