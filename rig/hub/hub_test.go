package hub

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"krund/rig/must"
)

// testHub is krunhub on this host, behind a proxy that kills it with SIGKILL at a random byte of
// what machines and hub send each other, and starts it again.
type testHub struct {
	program, data, address string
	front                  net.Listener
	random                 *rand.Rand
	token                  string        // of the first start: the role admin
	kills                  atomic.Int64  // so far
	most                   int64         // kills
	left                   atomic.Int64  // bytes until the next kill
	ended                  chan struct{} // closed when the hub has stopped for good
	stopping               atomic.Bool

	mu      sync.Mutex
	process *os.Process
	err     error // of a start; read after ended
}

// farthest is the largest number of bytes between two kills. A shipment takes about as many.
const farthest = 12 << 10

// startHub starts a hub that is killed up to most times.
func startHub(t *testing.T, program string, random *rand.Rand, most int64) *testHub {
	t.Helper()
	listen := func() net.Listener {
		var config net.ListenConfig
		l := must.Get(config.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
		return l
	}
	back := listen()
	h := &testHub{program: program, data: filepath.Join(t.TempDir(), "data"), address: back.Addr().String(),
		front: listen(), random: random, most: most, ended: make(chan struct{})}
	must.Do(t, back.Close())
	h.left.Store(random.Int64N(farthest))
	first := make(chan string)
	go h.supervise(first)
	h.token = <-first
	go h.serve()
	t.Cleanup(func() {
		h.stop()
		must.Do(t, h.front.Close())
	})
	return h
}

// port returns the port of the proxy.
func (h *testHub) port() string {
	_, port, _ := net.SplitHostPort(h.front.Addr().String())
	return port
}

var tokenLine = regexp.MustCompile(`^ *(krun_\S+)$`)

// supervise starts the hub again whenever it has ended, and sends the token of the first start.
func (h *testHub) supervise(first chan<- string) {
	defer close(h.ended)
	for !h.stopping.Load() {
		cmd := exec.CommandContext(context.Background(), h.program, "serve", "--listen", h.address,
			"--data", h.data)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			h.err = err
			return
		}
		h.mu.Lock()
		h.process = cmd.Process
		h.mu.Unlock()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := tokenLine.FindStringSubmatch(lines.Text()); found != nil && first != nil {
				first <- found[1]
				first = nil
			}
		}
		_ = cmd.Wait() // it was killed
	}
}

// stop ends the hub gracefully and for good.
func (h *testHub) stop() {
	if h.stopping.Swap(true) {
		return
	}
	h.mu.Lock()
	_ = h.process.Signal(syscall.SIGTERM) // it may be dead just now
	h.mu.Unlock()
	<-h.ended
}

// serve passes connections on.
func (h *testHub) serve() {
	for {
		machine, err := h.front.Accept()
		if err != nil {
			return // the end of the test
		}
		go h.pass(machine)
	}
}

// pass connects a machine with the hub. If the hub is dead, the machine's connection is closed.
func (h *testHub) pass(machine net.Conn) {
	defer machine.Close() // like a hub that was killed
	var dialer net.Dialer
	hub, err := dialer.DialContext(context.Background(), "tcp", h.address)
	if err != nil {
		return
	}
	defer hub.Close() // as above
	done := make(chan struct{}, 2)
	for _, way := range []struct {
		to   io.Writer
		from io.Reader
	}{{hub, machine}, {machine, hub}} {
		go func() {
			_, _ = io.Copy(counted{way.to, h}, way.from)
			done <- struct{}{}
		}()
	}
	<-done
}

// counted counts what is written, and kills the hub when it is enough: before, or after the byte is
// sent on.
type counted struct {
	io.Writer
	hub *testHub
}

func (c counted) Write(p []byte) (int, error) {
	h := c.hub
	left := h.left.Add(-int64(len(p)))
	if left > 0 || left+int64(len(p)) <= 0 || h.kills.Load() >= h.most {
		return c.Writer.Write(p)
	}
	n, err := c.Writer.Write(p[:int64(len(p))+left])
	h.kill()
	return n, errors.Join(err, io.ErrClosedPipe)
}

// kill kills the hub without warning.
func (h *testHub) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping.Load() || h.process.Kill() != nil {
		return
	}
	h.kills.Add(1)
	h.left.Store(h.random.Int64N(farthest))
}

// built returns the hub that make build has made.
func built(t *testing.T) string {
	t.Helper()
	program := must.Get(filepath.Abs("../../build/bin/krunhub"))(t)
	must.Get(os.Stat(program))(t, "run: make build")
	return program
}
