package trust

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// TestExchange: mallory owns a parent directory and keeps exchanging root's directory in it for his
// own. Whenever the exchange happens, his file is never read with the verdict that only root can
// change it.
func TestExchange(t *testing.T) {
	dir := tree(t)
	his := filepath.Join(dir, "his")
	must.Do(t, os.MkdirAll(his, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(his, "file"), []byte("mallory's"), 0o644))
	must.Do(t, os.Chown(filepath.Join(his, "file"), mallory, mallory))
	must.Do(t, os.Chown(his, mallory, mallory))
	exp := filepath.Join(dir, "srv/exp")
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, exp, unix.AT_FDCWD, his, unix.RENAME_EXCHANGE)
			}
		}
	})
	defer wait.Wait()
	defer close(done)
	read := map[string]int{}
	for i := 0; i < 3000 || len(read) < 2; i++ { // on a busy machine it takes long to see both
		file, verdict := must.Get2(Open(filepath.Join(exp, "file")))(t)
		text := must.Get(io.ReadAll(file))(t)
		must.Do(t, file.Close())
		read[string(text)]++
		must.Need(t, string(text) != "mallory's" || verdict.RootOnly() != nil,
			"mallory's file was accepted as root's")
	}
}
