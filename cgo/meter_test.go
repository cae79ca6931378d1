//go:build cgo

package libkrun

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// attach lets this process be the measured one: NewMeter finds the buffer.
func attach(t *testing.T, b *Buffer) {
	t.Helper()
	fd, err := unix.Dup(int(b.File().Fd())) // krun_init closes the descriptor it is given
	must.Do(t, err)
	t.Setenv(EnvFD, strconv.Itoa(fd))
}

func TestMeterInSharedBuffer(t *testing.T) {
	b, m := counting(t, Spec{Iterations: 3, Columns: []Column{{"cycles", "", 0}, {"cycles", "", 1}},
		UserColumns: 2})
	if _, err := NewMeter(); !errors.Is(err, EMAP) && !errors.Is(err, EMAGIC) {
		t.Errorf("second NewMeter on the closed descriptor: %v", err)
	}
	attach(t, b)
	_, err := NewMeter()
	must.Be(t, errors.Is(err, EBUSY), "second NewMeter on the same buffer", err, "want EBUSY")

	gc := must.Get(m.Column("gc_ns", "ns"))(t)
	for i := 0; !m.ShouldStop(); i++ {
		must.Do(t, m.Begin())
		must.Do(t, m.End())
		if i != 1 {
			must.Do(t, m.Set(gc, int64(100+i)))
		}
	}
	must.Do(t, m.Done())

	s := must.Get(b.Read())(t)
	must.Be(t, s.State == StateDone && s.Done == 3 && s.Pid == os.Getpid() && s.Error == OK &&
		len(s.Findings) == 0, "read", s)
	must.Be(t, s.InitNS > 0 && s.FirstNS == s.StartNS[0] && s.BegunNS == s.StartNS[2] &&
		s.DoneNS >= s.BegunNS+s.WallNS[2], "stamps", s)
	must.Need(t, len(s.Columns) == 3, "columns", s.Columns)
	user := s.Columns[2]
	want := Column{"gc_ns", "ns", NoCore}
	must.Be(t, user.Kind == KindUser && user.Column == want && user.Values[0] == 100 &&
		user.Values[1] == Missing && user.Values[2] == 102, "user column", user)
}

// TestMeterEvents: what goroutines report at the same time is read, and what has no slot is
// counted.
func TestMeterEvents(t *testing.T) {
	const each, writers = 100, 4
	b, m := counting(t, Spec{Iterations: 3, Events: each*writers - 7})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				e := Event{Kind: EventMark, TimeNS: Now(), DurationNS: 0, Argument: int64(w*each + i),
					Name: "writer " + strconv.Itoa(w) + strings.Repeat("-", w*50)}
				err := m.Event(e)
				must.Be(t, err == nil || errors.Is(err, EFULL), err)
			}
		})
	}
	all.Wait()
	must.Fail(t, m.Event(Event{Kind: EventSMI}), EINVAL, "krund's kind", "want EINVAL")
	s, err := b.Read()
	must.Need(t, err == nil && len(s.Findings) <= 0 && len(s.Events) == each*writers-7 && s.EventsLost == 7,
		err, "findings", s.Findings, len(s.Events), "events", s.EventsLost, "lost")
	seen := map[int64]bool{}
	for _, e := range s.Events {
		w := int(e.Argument / each)
		name := "writer " + strconv.Itoa(w) + strings.Repeat("-", w*50)
		must.Need(t,
			!seen[e.Argument] && e.Name == name[:min(len(name), eventNameBytes-1)] && e.Kind == EventMark, e)
		seen[e.Argument] = true
	}
}

// TestMeterIsAskedToStop checks that Stop reaches the measured side, and that
// what was measured before it is complete.
func TestMeterIsAskedToStop(t *testing.T) {
	b, m := counting(t, Spec{Iterations: 1000})
	n := 0
	for ; !m.ShouldStop(); n++ {
		must.Do(t, errors.Join(m.Begin(), m.End()))
		if n == 9 {
			must.Do(t, b.Stop())
		}
	}
	s := must.Get(b.Read())(t)
	must.Be(t, n == 10 && s.Done == 10 && s.State == StateReady && s.DoneNS == 0 && len(s.Findings) <= 0, n,
		"iterations, read", s)
}

// TestReadWhileMeasuring: a reader in the middle finds nothing wrong.
func TestReadWhileMeasuring(t *testing.T) {
	b, m := counting(t, Spec{Iterations: 1 << 20})
	measured := make(chan error)
	go func() {
		for !m.ShouldStop() {
			if err := errors.Join(m.Begin(), m.End()); err != nil {
				measured <- err
				return
			}
		}
		measured <- m.Done()
	}()
	for range 20 {
		s, err := b.Read()
		must.Be(t, err == nil && len(s.Findings) <= 0, s.Done, "iterations", err, "findings", s.Findings)
	}
	must.Do(t, errors.Join(b.Stop(), <-measured))
}
