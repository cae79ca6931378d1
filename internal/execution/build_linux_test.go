package execution

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/rig/must"
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
