package schedule_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/schedule"
	"krund/rig/must"
)

// model is a schedule in memory: what the file must contain.
type model struct {
	slots   []schedule.Slot
	reboots int
}

func (m model) clone() model {
	m.slots = slices.Clone(m.slots)
	return m
}

func (m model) next() int {
	return slices.IndexFunc(m.slots, func(s schedule.Slot) bool { return !s.Flag.Final() })
}

// walk is a random sequence of calls on a schedule and on the model. If the power is cut during a
// call, the file may be in the state before or after it.
type walk struct {
	t             *testing.T
	fsys          *crashfs.FS
	s             *schedule.Schedule
	chance        *rand.Rand
	before, after model
}

func newWalk(t *testing.T, fsys *crashfs.FS, n int) *walk {
	m := model{slots: slices.Collect(plan(n))}
	return &walk{t: t, fsys: fsys, chance: rand.New(rand.NewPCG(*seed, 2)), before: m, after: m.clone()}
}

// call performs a call that changes the schedule to w.after.
func (w *walk) call(do func() error) error {
	if err := do(); err != nil {
		return err
	}
	w.before = w.after.clone()
	return nil
}

func (w *walk) run(steps int) error {
	if err := w.reopen(); err != nil {
		return err
	}
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.s.Close()
}

func (w *walk) reopen() (err error) {
	if w.s != nil {
		err = w.s.Close()
	}
	if err == nil {
		w.s, err = schedule.Open(w.fsys, path, true)
	}
	return err
}

func (w *walk) step() error {
	switch w.chance.IntN(8) {
	case 0:
		return w.reopen()
	case 1:
		w.after.reboots++
		return w.call(func() error { return w.s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }) })
	case 2:
		i := w.chance.IntN(len(w.after.slots))
		w.after.slots[i].Flag = schedule.Outstanding
		return w.call(func() error { return w.s.Finish(w.before.slots[i], schedule.Outstanding) })
	}
	return w.execute()
}

// execute begins a slot and usually finishes it.
func (w *walk) execute() error {
	i := w.before.next()
	if i < 0 {
		if _, err := w.s.Begin(); !errors.Is(err, schedule.ErrDone) {
			w.t.Errorf("everything is finished, but Begin returned %v", err)
		}
		return nil
	}
	slot := &w.after.slots[i]
	slot.Flag, slot.Attempts = schedule.Running, slot.Attempts+1
	err := w.call(func() error {
		got, err := w.s.Begin()
		if err == nil && got != *slot {
			w.t.Errorf("Begin gives %+v, want %+v", got, *slot)
		}
		return err
	})
	if err != nil || w.chance.IntN(5) == 0 {
		return err
	}
	slot = &w.after.slots[i]
	slot.Flag = schedule.Flag("CCCETSO"[w.chance.IntN(7)])
	return w.call(func() error { return w.s.Finish(*slot, slot.Flag) })
}

// stored reads the whole schedule; damaged slots stay zero.
func stored(t *testing.T, s *schedule.Schedule) (m model, damaged []int) {
	t.Helper()
	m.reboots = s.Header().Reboots
	for slot, err := range s.Slots() {
		var bad *schedule.DamagedSlot
		if errors.As(err, &bad) {
			damaged = append(damaged, bad.Index)
		} else {
			must.Do(t, err)
		}
		m.slots = append(m.slots, slot)
	}
	return m, damaged
}

// differs returns the slots in which two models differ.
func differs(a, b model) (list []int) {
	for i := range a.slots {
		if a.slots[i] != b.slots[i] {
			list = append(list, i)
		}
	}
	return list
}

// TestModel cuts the power in every write and sync of a random run, compares the resulting state
// with the model, and then runs the experiment to its end.
func TestModel(t *testing.T) {
	t.Logf("-seed %d", *seed)
	for _, sensors := range []int{0, 20} { // headers of one sector and of several
		t.Run(fmt.Sprintf("%d sensors", sensors), func(t *testing.T) { cutModel(t, sensors) })
	}
}

func cutModel(t *testing.T, sensors int) {
	const n, steps = 10, 60
	var w *walk
	h := header()
	h.Sensors = sensors
	build := func() *crashfs.FS {
		fsys := crashfs.New("/x")
		must.Do(t, schedule.Create(fsys, path, h, n, plan(n)))
		return fsys.Reboot(crashfs.Nothing)
	}
	program := func(fsys *crashfs.FS) error {
		w = newWalk(t, fsys, n)
		return w.run(steps)
	}
	cuts := 0
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(*seed)...) {
		cuts++
		must.Need(t, cut.Err == nil || errors.Is(cut.Err, crashfs.ErrPowerCut), cut, cut.Err)
		s := must.Get(schedule.Open(after, path, true))(t, cut)
		m, damaged := stored(t, s)
		asBefore := len(differs(m, w.before)) == 0
		asAfter := len(differs(m, w.after)) == 0
		must.Need(t, len(damaged) == 0 && (asBefore || asAfter) && m.reboots >= w.before.reboots &&
			m.reboots <= w.after.reboots, cut, m.slots, m.reboots, "reboots, damaged", damaged, "before",
			w.before, "after", w.after)
		checkNext(t, cut.String(), s, m.next())
		finishAll(t, cut, after, s, m)
	}
	must.Be(t, cuts >= 300, "only", cuts, "cuts: the walk is too short")
}

// finishAll runs the remaining slots: every unfinished one, once, in order.
func finishAll(t *testing.T, cut crashfs.Cut, fsys *crashfs.FS, s *schedule.Schedule, m model) {
	t.Helper()
	size := len(fsys.Files()[path])
	for i := m.next(); i >= 0; i = m.next() {
		slot, err := s.Begin()
		must.Need(t, err == nil && slot.Index == i && slot.Attempts == m.slots[i].Attempts+1, cut, "going on",
			slot, err, "want slot", i)
		must.Do(t, s.Finish(slot, schedule.Completed))
		m.slots[i].Flag = schedule.Completed
	}
	checkNext(t, cut.String(), s, -1)
	got := len(fsys.Files()[path])
	must.Need(t, got == size, cut, "the size has changed from", size, "to", got)
}

// TestModelTorn is TestModel for disks that tear sectors: only the slot or the header copy that was
// being written may be damaged, and Repair restores the slot from the results.
func TestModelTorn(t *testing.T) {
	const n, steps = 10, 40
	var w *walk
	build := func() *crashfs.FS { return simulated(t, n) }
	program := func(fsys *crashfs.FS) error {
		w = newWalk(t, fsys, n)
		return w.run(steps)
	}
	policies := []crashfs.Policy{crashfs.Torn(*seed), crashfs.Torn(*seed + 1), crashfs.Torn(*seed + 2),
		crashfs.Torn(*seed + 3)}
	torn := 0
	for cut, after := range crashfs.EveryCut(build, program, policies...) {
		s := open(t, after, false)
		m, damaged := stored(t, s)
		for _, i := range differs(m, w.before) {
			inFlight := slices.Contains(differs(w.before, w.after), i)
			must.Need(t, inFlight, cut, "slot", i, m.slots[i], "and was not being written")
		}
		if len(damaged) == 0 {
			continue
		}
		torn++
		src := source(n)
		src.State = func(planned schedule.Slot) (schedule.Slot,
			error) {
			return w.before.slots[planned.Index], nil
		}
		report, err := schedule.Repair(after, path, src)
		must.Need(t, err == nil && slices.Equal(report.Slots, damaged), cut, report, err)
		m, _ = stored(t, open(t, after, true))
		must.Need(t, len(differs(m, w.before)) == 0, cut, "repaired to", m.slots, "want", w.before.slots)
	}
	must.Be(t, torn != 0, "no slot was ever torn")
}

// TestCreateCut: after a cut in Create there is no schedule or a complete one, and Create can be
// called again.
func TestCreateCut(t *testing.T) {
	const n = 8
	build := func() *crashfs.FS { return crashfs.New("/x") }
	program := func(fsys *crashfs.FS) error { return schedule.Create(fsys, path, header(), n, plan(n)) }
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(*seed)...) {
		_, absent := after.Lstat(path)
		if absent != nil {
			must.Need(t, cut.Err != nil, cut, "it is gone")
			must.Do(t, program(after))
		}
		got := flags(t, open(t, after, true))
		must.Need(t, got == "OOOOOOOO", cut, got)
	}
}
