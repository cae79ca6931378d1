import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * richards - the scheduler of a small operating system: an idle task, a worker,
 * two handlers and two devices send each other packets.
 *
 * <pre>
 * parameter  how often the idle task runs, 1 to 10000000
 * checksum   2 to the 24 times the packets queued, plus the times a task was held
 * </pre>
 *
 * Based on Martin Richards' benchmark for BCPL, in the form in which it is known
 * from object-oriented languages.
 */
final class KrunEntry implements BaseKrunEntry {
    private static final int MOST = 10000000;
    private static final int DATA = 4;
    private static final int LETTERS = 26;

    // The tasks.
    private static final int IDLE = 0;
    private static final int WORKER = 1;
    private static final int HANDLER_A = 2;
    private static final int HANDLER_B = 3;
    private static final int DEVICE_A = 4;
    private static final int DEVICE_B = 5;
    private static final int TASKS = 6;

    // Bits of a task's state.
    private static final int RUNNABLE = 1;
    private static final int SUSPENDED = 2;
    private static final int HELD = 4;

    // Kinds of packets.
    private static final int DEVICE_PACKET = 0;
    private static final int WORK_PACKET = 1;

    static final class Packet {
        Packet link;
        int to; // the destination task; after queueing, the sender
        final int kind;
        int used; // amount of data used by the handler
        final int[] data = new int[DATA];

        Packet(int to, int kind) {
            this.to = to;
            this.kind = kind;
        }

        /** The list of packets that starts with first, with this one more appended. */
        Packet appendTo(Packet first) {
            link = null;
            if (first == null) {
                return this;
            }
            Packet last = first;
            while (last.link != null) {
                last = last.link;
            }
            last.link = this;
            return first;
        }
    }

    /** The tasks, and the running one. Tasks call the methods, which return the next task to consider. */
    static final class Scheduler {
        final Task[] tasks = new Task[TASKS];
        Task current;
        long queued;
        long held;

        /** Hold the current task until it is released; the next one runs. */
        Task hold() {
            held++;
            current.state |= HELD;
            return current.link;
        }

        /** Suspend the current task until a packet comes. */
        Task suspend() {
            current.state |= SUSPENDED;
            return current;
        }

        /** Resume a held task; the one of higher priority runs. */
        Task release(int id) {
            Task t = tasks[id];
            t.state &= ~HELD;
            return t.priority > current.priority ? t : current;
        }

        /** Send a packet to its task, which runs if it was waiting and has a higher priority. */
        Task queue(Packet p) {
            Task t = tasks[p.to];
            queued++;
            p.link = null;
            p.to = current.id;
            if (t.queue != null) {
                p.appendTo(t.queue);
                return current;
            }
            t.queue = p;
            t.state |= RUNNABLE;
            return t.priority > current.priority ? t : current;
        }

        /** Run the highest-priority runnable task until there is none. */
        void schedule() {
            Task t = tasks[TASKS - 1];
            while (t != null) {
                if ((t.state & HELD) != 0 || t.state == SUSPENDED) {
                    t = t.link;
                    continue;
                }
                current = t;
                t = t.step();
            }
        }
    }

    abstract static class Task {
        final Scheduler system;
        final Task link; // the next lower priority
        final int id;
        final int priority;
        int state = SUSPENDED;
        Packet queue;

        /** A task with a number of packets in its queue. */
        Task(Scheduler system, int id, int packets, int to, int kind) {
            this.system = system;
            this.id = id;
            priority = id * 1000;
            link = id > 0 ? system.tasks[id - 1] : null;
            system.tasks[id] = this;
            for (int i = 0; i < packets; i++) {
                queue = new Packet(to, kind).appendTo(queue);
                state = SUSPENDED | RUNNABLE;
            }
        }

        /** Run with a packet, or null, and return the next task. */
        abstract Task run(Packet p);

        /** Run with the next packet if the task was waiting for one. */
        Task step() {
            Packet p = null;
            if (state == (SUSPENDED | RUNNABLE)) {
                p = queue;
                queue = p.link;
                state = queue != null ? RUNNABLE : 0;
            }
            return run(p);
        }
    }

    static final class Idle extends Task {
        private int count; // remaining runs
        private int choice = 1; // random bits

        Idle(Scheduler system, int count) {
            super(system, IDLE, 0, 0, DEVICE_PACKET);
            this.count = count;
            state = 0;
        }

        @Override
        Task run(Packet p) {
            int bit = choice & 1;
            if (--count == 0) {
                return system.hold();
            }
            choice >>= 1;
            if (bit == 0) {
                return system.release(DEVICE_A);
            }
            choice ^= 0xD008;
            return system.release(DEVICE_B);
        }
    }

    static final class Worker extends Task {
        private int count; // the last letter written
        private int choice = HANDLER_A; // the last handler served

        Worker(Scheduler system) {
            super(system, WORKER, 2, WORKER, WORK_PACKET);
        }

        @Override
        Task run(Packet p) {
            if (p == null) {
                return system.suspend();
            }
            choice = choice == HANDLER_A ? HANDLER_B : HANDLER_A;
            p.to = choice;
            p.used = 0;
            for (int i = 0; i < DATA; i++) {
                count = count == LETTERS ? 1 : count + 1;
                p.data[i] = count;
            }
            return system.queue(p);
        }
    }

    static final class Handler extends Task {
        private Packet work; // waiting packets
        private Packet device;

        Handler(Scheduler system, int id, int to) {
            super(system, id, 3, to, DEVICE_PACKET);
        }

        @Override
        Task run(Packet p) {
            if (p != null && p.kind == WORK_PACKET) {
                work = p.appendTo(work);
            } else if (p != null) {
                device = p.appendTo(device);
            }
            Packet first = work;
            if (first == null) {
                return system.suspend();
            }
            if (first.used == DATA) {
                work = first.link;
                return system.queue(first);
            }
            Packet out = device;
            if (out == null) {
                return system.suspend();
            }
            device = out.link;
            out.used = first.data[first.used++];
            return system.queue(out);
        }
    }

    static final class Device extends Task {
        private Packet device; // the current packet

        Device(Scheduler system, int id) {
            super(system, id, 0, 0, DEVICE_PACKET);
        }

        @Override
        Task run(Packet p) {
            if (p != null) {
                device = p;
                return system.hold();
            }
            Packet done = device;
            if (done == null) {
                return system.suspend();
            }
            device = null;
            return system.queue(done);
        }
    }

    static double checksum(int n) {
        if (n < 1 || n > MOST) {
            System.out.println("richards: parameter " + n + " is not within 1 to " + MOST);
            System.exit(1);
        }
        Scheduler system = new Scheduler();
        new Idle(system, n);
        new Worker(system);
        new Handler(system, HANDLER_A, DEVICE_A);
        new Handler(system, HANDLER_B, DEVICE_B);
        new Device(system, DEVICE_A);
        new Device(system, DEVICE_B);
        system.schedule();
        return (double) system.queued * 16777216 + system.held;
    }

    /** Known checksums; README.md lists their origin. */
    private static final double[][] KNOWN = {
        { 1000, 38956696480L },
        { 10000, 390003172433L },
        { 15000, 586514708127L },
        { 300000, 11708785771126L },
    };

    private int firstParameter;
    private double first;
    private boolean haveFirst;

    /** Returns the expected checksum for n: the known one, else that of the first iteration. */
    private double expected(int n, double got) {
        for (double[] known : KNOWN) {
            if (known[0] == n) {
                return known[1];
            }
        }
        if (!haveFirst || firstParameter != n) {
            haveFirst = true;
            firstParameter = n;
            first = got;
        }
        return first;
    }

    /** Formats a number with 17 significant digits and no trailing zeros, like C's %.17g. */
    private static String digits(double x) {
        return new BigDecimal(x).round(new MathContext(17, RoundingMode.HALF_EVEN)).stripTrailingZeros().toPlainString();
    }

    @Override
    public void run_iter(int n) {
        double got = checksum(n);
        double want = expected(n, got);
        if (got != want) {
            System.out.println("richards: parameter " + n + ": checksum " + digits(got) + ", expected " + digits(want));
            System.exit(1);
        }
    }
}
