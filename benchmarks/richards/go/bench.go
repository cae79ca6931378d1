//go:build cgo

// richards - the scheduler of a small operating system: an idle task, a worker, two handlers and
// two devices send each other packets.
//
//	parameter  how often the idle task runs, 1 to 10000000
//	checksum   2 to the 24 times the packets queued, plus the times a task was held
//
// Based on Martin Richards' benchmark for BCPL, in the form in which it is known from
// object-oriented languages.
package main

import (
	"fmt"
	"os"

	krun "krund/runners/go"
)

const (
	most    = 10000000
	data    = 4
	letters = 26
)

// The tasks.
const (
	idle = iota
	worker
	handlerA
	handlerB
	deviceA
	deviceB
	tasks
)

// Bits of a task's state.
const (
	runnable  = 1
	suspended = 2
	held      = 4
)

// Kinds of packets.
const (
	devicePacket = iota
	workPacket
)

type packet struct {
	link *packet
	to   int // the destination task; after queueing, the sender
	kind int
	used int // amount of data used by the handler
	data [data]int
}

// appendTo returns the list of packets that starts with first, with this one more appended.
func (p *packet) appendTo(first *packet) *packet {
	p.link = nil
	if first == nil {
		return p
	}
	last := first
	for last.link != nil {
		last = last.link
	}
	last.link = p
	return first
}

// A runner runs with a packet, or nil, and returns the next task.
type runner interface{ run(p *packet) *task }

type task struct {
	runner
	link                *task // the next lower priority
	id, priority, state int
	queue               *packet
}

// step runs with the next packet if the task was waiting for one.
func (t *task) step() *task {
	var p *packet
	if t.state == suspended|runnable {
		p = t.queue
		t.queue = p.link
		t.state = 0
		if t.queue != nil {
			t.state = runnable
		}
	}
	return t.run(p)
}

// system has the tasks, and the running one. Tasks call its methods, which return the next task to
// consider.
type system struct {
	tasks        [tasks]*task
	current      *task
	queued, held int
}

// add creates a task with a number of packets in its queue.
func (s *system) add(id int, r runner, packets, to, kind int) *task {
	t := &task{runner: r, id: id, priority: id * 1000, state: suspended}
	if id > 0 {
		t.link = s.tasks[id-1]
	}
	s.tasks[id] = t
	for range packets {
		t.queue = (&packet{to: to, kind: kind}).appendTo(t.queue)
		t.state = suspended | runnable
	}
	return t
}

// hold holds the current task until it is released; the next one runs.
func (s *system) hold() *task {
	s.held++
	s.current.state |= held
	return s.current.link
}

// wait suspends the current task until a packet comes.
func (s *system) wait() *task {
	s.current.state |= suspended
	return s.current
}

// release resumes a held task; the one of higher priority runs.
func (s *system) release(id int) *task {
	t := s.tasks[id]
	t.state &^= held
	return s.higher(t)
}

// send queues a packet for its task, which runs if it was waiting and has a higher priority.
func (s *system) send(p *packet) *task {
	t := s.tasks[p.to]
	s.queued++
	p.link = nil
	p.to = s.current.id
	if t.queue != nil {
		p.appendTo(t.queue)
		return s.current
	}
	t.queue = p
	t.state |= runnable
	return s.higher(t)
}

func (s *system) higher(t *task) *task {
	if t.priority > s.current.priority {
		return t
	}
	return s.current
}

// schedule runs the highest-priority runnable task until there is none.
func (s *system) schedule() {
	t := s.tasks[tasks-1]
	for t != nil {
		if t.state&held != 0 || t.state == suspended {
			t = t.link
			continue
		}
		s.current = t
		t = t.step()
	}
}

type idleTask struct {
	system *system
	count  int // remaining runs
	choice int // random bits
}

func (t *idleTask) run(*packet) *task {
	bit := t.choice & 1
	if t.count--; t.count == 0 {
		return t.system.hold()
	}
	t.choice >>= 1
	if bit == 0 {
		return t.system.release(deviceA)
	}
	t.choice ^= 0xD008
	return t.system.release(deviceB)
}

type workerTask struct {
	system *system
	count  int // the last letter written
	choice int // the last handler served
}

func (t *workerTask) run(p *packet) *task {
	if p == nil {
		return t.system.wait()
	}
	t.choice = handlerA + handlerB - t.choice
	p.to = t.choice
	p.used = 0
	for i := range p.data {
		if t.count++; t.count > letters {
			t.count = 1
		}
		p.data[i] = t.count
	}
	return t.system.send(p)
}

type handlerTask struct {
	system       *system
	work, device *packet // waiting packets
}

func (t *handlerTask) run(p *packet) *task {
	switch {
	case p != nil && p.kind == workPacket:
		t.work = p.appendTo(t.work)
	case p != nil:
		t.device = p.appendTo(t.device)
	}
	work := t.work
	if work == nil {
		return t.system.wait()
	}
	if work.used == data {
		t.work = work.link
		return t.system.send(work)
	}
	out := t.device
	if out == nil {
		return t.system.wait()
	}
	t.device = out.link
	out.used = work.data[work.used]
	work.used++
	return t.system.send(out)
}

type deviceTask struct {
	system *system
	device *packet // the current packet
}

func (t *deviceTask) run(p *packet) *task {
	if p != nil {
		t.device = p
		return t.system.hold()
	}
	done := t.device
	if done == nil {
		return t.system.wait()
	}
	t.device = nil
	return t.system.send(done)
}

func checksum(n int) float64 {
	if n < 1 || n > most {
		fmt.Printf("richards: parameter %d is not within 1 to %d\n", n, most)
		os.Exit(1)
	}
	s := &system{}
	s.add(idle, &idleTask{system: s, count: n, choice: 1}, 0, 0, devicePacket).state = 0
	s.add(worker, &workerTask{system: s, choice: handlerA}, 2, worker, workPacket)
	s.add(handlerA, &handlerTask{system: s}, 3, deviceA, devicePacket)
	s.add(handlerB, &handlerTask{system: s}, 3, deviceB, devicePacket)
	s.add(deviceA, &deviceTask{system: s}, 0, 0, devicePacket)
	s.add(deviceB, &deviceTask{system: s}, 0, 0, devicePacket)
	s.schedule()
	return float64(s.queued)*16777216 + float64(s.held)
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	1000:   38956696480,
	10000:  390003172433,
	15000:  586514708127,
	300000: 11708785771126,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("richards: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
