package rig

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

func packed(t *testing.T, p *Payload) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, p.writeTar(&b))
	return b.Bytes()
}

// listing is one line per archive member: name, type, mode, and content or target.
func listing(t *testing.T, archive []byte) string {
	t.Helper()
	var b strings.Builder
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		must.Do(t, err)
		data, err := io.ReadAll(r)
		must.Need(t, err == nil && h.Uid == 0 && h.Gid == 0, h.Name, err, "owner", h.Uid, h.Gid)
		b.WriteString(strings.TrimSpace(strings.Join([]string{h.Name, string(h.Typeflag),
			fs.FileMode(h.Mode).String(), string(data) + h.Linkname}, " ")) + "\n")
	}
}

func TestPayloadPacksInOrderAndReplaces(t *testing.T) {
	var p Payload
	must.Be(t, p.empty() && (*Payload)(nil).empty(), "an empty payload is not empty")
	p.Script("usr/bin/x", "#!/bin/sh")
	p.Text("/etc/../etc/a", "old")
	p.File("/etc/a", 0o600, []byte("new"))
	p.Unit("x.service", "[Service]", "multi-user.target", "bench.target")
	long := "/" + strings.Repeat("nested/", 40) + "file"
	p.Text(long, "deep")
	want := "etc/a 0 -rw------- new\n" +
		"etc/systemd/system/bench.target.wants/x.service 2 -rwxrwxrwx ../x.service\n" +
		"etc/systemd/system/multi-user.target.wants/x.service 2 -rwxrwxrwx ../x.service\n" +
		"etc/systemd/system/x.service 0 -rw-r--r-- [Service]\n" +
		long[1:] + " 0 -rw-r--r-- deep\n" +
		"usr/bin/x 0 -rwxr-xr-x #!/bin/sh\n"
	must.Equal(t, listing(t, packed(t, &p)), want, "archive")
	must.Be(t, bytes.Equal(packed(t, &p), packed(t, &p)), "the same files made different archives")
	var q Payload
	q.Text("/etc/a", "merged")
	p.Merge(&q)
	got := listing(t, packed(t, &p))
	must.Be(t, strings.HasPrefix(got, "etc/a 0 -rw-r--r-- merged\n"), "after the merge", got)
}

func TestPayloadTakesATreeOfTheHost(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, errors.Join(os.MkdirAll(filepath.Join(dir, "lib/deep"), 0o755),
		os.WriteFile(filepath.Join(dir, "lib/deep/so.1"), []byte("elf"), 0o755),
		os.WriteFile(filepath.Join(dir, "conf"), []byte("text"), 0o640),
		os.Symlink("so.1", filepath.Join(dir, "lib/deep/so"))))
	var p Payload
	must.Do(t, p.Tree("/opt", dir))
	want := "opt/conf 0 -rw-r----- text\nopt/lib/deep/so 2 -rwxrwxrwx so.1\nopt/lib/deep/so.1 0 -rwxr-xr-x " +
		"elf\n"
	must.Equal(t, listing(t, packed(t, &p)), want, "archive")
	must.Fail(t, p.Tree("/opt", filepath.Join(dir, "none")), fs.ErrNotExist, "a tree that is not there")
	must.Fail(t, p.Copy("/x", filepath.Join(dir, "none")), fs.ErrNotExist, "a file that is not there")
}

// TestSnapshotOfBusyThreads: a thread that falls asleep and wakes up while its status is read has
// one line of affinity in each snapshot. The kernel's grace-period thread does that all the time
// (rcu_preempt; it binds itself only with nohz_full, rcu_bind_gp_kthread in
// kernel/rcu/tree_plugin.h:1332 of Linux 6.1). Its state is the third line of the status
// (fs/proc/array.c:181), and seeking writes the text anew (traverse, fs/seq_file.c:323).
func TestSnapshotOfBusyThreads(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	const looks = 3000 // reading line by line loses about one line in 500
	restless := exec.CommandContext(t.Context(), "bash", "-c",
		`coproc cat; while :; do read -rt 0.0005 -u ${COPROC[0]}; done`)
	if err := restless.Start(); err != nil {
		t.Skip("no bash here: ", err)
	}
	defer func() { _ = restless.Process.Kill(); _ = restless.Wait() }()
	proc := t.TempDir()
	for i := range looks {
		must.Do(t, os.Symlink(fmt.Sprintf("/proc/%d", restless.Process.Pid),
			filepath.Join(proc, fmt.Sprint(i))))
	}
	_, function, _ := strings.Cut(snapshotScript, "\nbound() {")
	function, _, found := strings.Cut(function, "\n}\n")
	must.Need(t, found, "snapshot.sh has no function bound")
	bound := exec.CommandContext(t.Context(), "bash", "-c", "bound() {"+function+"\n}\nbound")
	bound.Env = append(os.Environ(), "PROC="+proc)
	out, err := bound.Output()
	lines := strings.Count(string(out), "bash ")
	must.Be(t, err == nil && lines == looks, lines, looks, "lines", err)
}
