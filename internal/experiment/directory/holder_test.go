package directory

import (
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

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
