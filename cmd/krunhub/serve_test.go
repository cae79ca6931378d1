package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// fullDisk refuses what is written to it from the second line on.
type fullDisk struct{ lines int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.lines++; f.lines > 1 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// TestFirstToken: the token of a start that could not print it is not lost: the next start prints
// one.
func TestFirstToken(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ctx, stop := context.WithCancel(t.Context())
	s := settings{listen: "127.0.0.1:0", data: data}
	must.Refuse(t, serve(ctx, s, &fullDisk{}, io.Discard), "", "it serves, and has shown no token")
	var out bytes.Buffer
	err := serve(ctx, s, writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "krun_") {
			stop()
		}
		return out.Write(p)
	}), io.Discard)
	must.Be(t, err == nil && strings.Contains(out.String(), "\nkrun_"), "printed", out.String(), err)
	info, err := os.Stat(filepath.Join(data, "hub.sqlite"))
	must.Be(t, err == nil && info.Mode().Perm() == 0o600, "hub.sqlite", info.Mode(), err,
		"want it to be for its owner")
}

// TestServeRefused: what keeps a hub from starting is named, and changes nothing.
func TestServeRefused(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	h := must.Get(open(t.Context(), settings{data: data}, slog.New(slog.DiscardHandler)))(t)
	serveError := func(s settings, want string) {
		t.Helper()
		err := serve(t.Context(), s, io.Discard, io.Discard)
		must.Refuse(t, err, want, s)
	}
	serveError(settings{data: data, listen: "127.0.0.1:0"}, "another krunhub uses it")
	must.Do(t, h.close())
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close() // nothing is sent
	serveError(settings{data: data, listen: listener.Addr().String()}, "choose another address with --listen")
	serveError(settings{data: filepath.Join(data, "no", "parent")}, "name another with --data")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	serveError(settings{data: file}, "name another with --data")
	other := filepath.Join(t.TempDir(), "other")
	serveError(settings{data: other, store: "ftp://x"}, "only s3:// and s3+http:// are known")
	_, err := os.Stat(filepath.Join(other, "hub.sqlite"))
	must.Fail(t, err, fs.ErrNotExist, "a database was made")
}
