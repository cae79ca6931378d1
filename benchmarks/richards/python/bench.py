"""richards - the scheduler of a small operating system: an idle task, a worker,
two handlers and two devices send each other packets.

parameter  how often the idle task runs, 1 to 10000000
checksum   2 to the 24 times the packets queued, plus the times a task was held

Based on Martin Richards' benchmark for BCPL, in the form in which it is known from
object-oriented languages. For Python 2.7 and 3.
"""

import sys

try:
    range = xrange
except NameError:
    pass

MOST = 10000000
DATA, LETTERS = 4, 26
IDLE, WORKER, HANDLER_A, HANDLER_B, DEVICE_A, DEVICE_B = range(6)
RUNNABLE, SUSPENDED, HELD = 1, 2, 4  # bits of a task's state
DEVICE_PACKET, WORK_PACKET = 0, 1


class Packet(object):
    def __init__(self, to, kind):
        self.link = None
        self.to = to  # the destination task; after queueing, the sender
        self.kind = kind
        self.used = 0  # amount of data used by the handler
        self.data = [0] * DATA


def append(first, packet):
    """The list of packets that starts with first, with one more appended."""
    packet.link = None
    if first is None:
        return packet
    last = first
    while last.link is not None:
        last = last.link
    last.link = packet
    return first


class System(object):
    """The tasks and the one that runs. The methods are what tasks call; they
    return the task to look at next."""

    def __init__(self):
        self.tasks = []
        self.current = None
        self.queued = 0
        self.held = 0

    def hold(self):
        """Hold the current task until it is released; the next one runs."""
        self.held += 1
        self.current.state |= HELD
        return self.current.link

    def wait(self):
        """Suspend the current task until a packet comes."""
        self.current.state |= SUSPENDED
        return self.current

    def release(self, ident):
        """Resume a held task; the one of higher priority runs."""
        task = self.tasks[ident]
        task.state &= ~HELD
        return task if task.priority > self.current.priority else self.current

    def queue(self, packet):
        """Send a packet to its task, which runs if it was waiting and has a higher priority."""
        task = self.tasks[packet.to]
        self.queued += 1
        packet.link = None
        packet.to = self.current.ident
        if task.queue is not None:
            append(task.queue, packet)
            return self.current
        task.queue = packet
        task.state |= RUNNABLE
        return task if task.priority > self.current.priority else self.current

    def schedule(self):
        """Run the highest-priority runnable task until there is none."""
        task = self.tasks[-1]
        while task is not None:
            if task.state & HELD or task.state == SUSPENDED:
                task = task.link
                continue
            self.current = task
            task = task.step()


class Task(object):
    """A task, which adds itself above the existing tasks of the system."""

    def __init__(self, system, packets=(0, 0, 0)):
        number, to, kind = packets
        self.system = system
        self.link = system.tasks[-1] if system.tasks else None
        self.ident = len(system.tasks)
        self.priority = self.ident * 1000
        self.state = SUSPENDED
        self.queue = None
        system.tasks.append(self)
        for _ in range(number):
            self.queue = append(self.queue, Packet(to, kind))
            self.state = SUSPENDED | RUNNABLE

    def step(self):
        """Run with the next packet if the task was waiting for one."""
        packet = None
        if self.state == SUSPENDED | RUNNABLE:
            packet = self.queue
            self.queue = packet.link
            self.state = RUNNABLE if self.queue is not None else 0
        return self.run(packet)


class Idle(Task):
    def __init__(self, system, count):
        Task.__init__(self, system)
        self.state = 0
        self.count = count  # remaining runs
        self.choice = 1  # random bits

    def run(self, packet):
        bit = self.choice & 1
        self.count -= 1
        if self.count == 0:
            return self.system.hold()
        self.choice >>= 1
        if not bit:
            return self.system.release(DEVICE_A)
        self.choice ^= 0xD008
        return self.system.release(DEVICE_B)


class Worker(Task):
    def __init__(self, system):
        Task.__init__(self, system, (2, WORKER, WORK_PACKET))
        self.count = 0  # the last letter written
        self.choice = HANDLER_A  # the last handler served

    def run(self, packet):
        if packet is None:
            return self.system.wait()
        self.choice = HANDLER_B if self.choice == HANDLER_A else HANDLER_A
        packet.to = self.choice
        packet.used = 0
        for i in range(DATA):
            self.count = 1 if self.count == LETTERS else self.count + 1
            packet.data[i] = self.count
        return self.system.queue(packet)


class Handler(Task):
    def __init__(self, system, to):
        Task.__init__(self, system, (3, to, DEVICE_PACKET))
        self.work = None  # waiting packets
        self.device = None

    def run(self, packet):
        if packet is not None:
            if packet.kind == WORK_PACKET:
                self.work = append(self.work, packet)
            else:
                self.device = append(self.device, packet)
        work = self.work
        if work is None:
            return self.system.wait()
        if work.used == DATA:
            self.work = work.link
            return self.system.queue(work)
        out = self.device
        if out is None:
            return self.system.wait()
        self.device = out.link
        out.used = work.data[work.used]
        work.used += 1
        return self.system.queue(out)


class Device(Task):
    def __init__(self, system):
        Task.__init__(self, system)
        self.device = None  # the current packet

    def run(self, packet):
        if packet is not None:
            self.device = packet
            return self.system.hold()
        done = self.device
        if done is None:
            return self.system.wait()
        self.device = None
        return self.system.queue(done)


def checksum(n):
    if not 1 <= n <= MOST:
        print("richards: parameter %d is not within 1 to %d" % (n, MOST))
        sys.exit(1)
    system = System()
    Idle(system, n)
    Worker(system)
    Handler(system, DEVICE_A)
    Handler(system, DEVICE_B)
    Device(system)
    Device(system)
    system.schedule()
    return system.queued * 16777216 + system.held


# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
    1000: 38956696480,
    10000: 390003172433,
    15000: 586514708127,
    300000: 11708785771126,
}


def run_iter(n):
    got = checksum(n)
    want = EXPECTED.setdefault(n, got)
    if got != want:
        print("richards: parameter %d: checksum %.17g, expected %.17g" % (n, got, want))
        sys.exit(1)
