using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>
/// richards - the scheduler of a small operating system: an idle task, a worker,
/// two handlers and two devices send each other packets.
///
///   parameter  how often the idle task runs, 1 to 10000000
///   checksum   2 to the 24 times the packets queued, plus the times a task was held
///
/// Based on Martin Richards' benchmark for BCPL, in the form in which it is known
/// from object-oriented languages.
/// </summary>
public static class Richards {
    const int Most = 10000000;
    const int Data = 4;
    const int Letters = 26;

    // The tasks.
    const int IdleId = 0;
    const int WorkerId = 1;
    const int HandlerA = 2;
    const int HandlerB = 3;
    const int DeviceA = 4;
    const int DeviceB = 5;
    const int Tasks = 6;

    // Bits of a task's state.
    const int Runnable = 1;
    const int Suspended = 2;
    const int Held = 4;

    // Kinds of packets.
    const int DevicePacket = 0;
    const int WorkPacket = 1;

    sealed class Packet {
        public Packet Link;
        public int To; // the destination task; after queueing, the sender
        public readonly int Kind;
        public int Used; // amount of data used by the handler
        public readonly int[] Contents = new int[Data];

        public Packet(int to, int kind) {
            To = to;
            Kind = kind;
        }

        /// <summary>Returns the list of packets that starts with head, with this one more appended.</summary>
        public Packet AppendTo(Packet head) {
            Link = null;
            if (head == null) {
                return this;
            }
            Packet last = head;
            while (last.Link != null) {
                last = last.Link;
            }
            last.Link = this;
            return head;
        }
    }

    /// <summary>The tasks, and the running one. Tasks call the methods, which return the next task to consider.</summary>
    sealed class Scheduler {
        public readonly Task[] All = new Task[Tasks];
        public Task Current;
        public long Queued;
        public long Holds;

        /// <summary>Holds the current task until it is released; the next one runs.</summary>
        public Task Hold() {
            Holds++;
            Current.State |= Held;
            return Current.Link;
        }

        /// <summary>Suspends the current task until a packet comes.</summary>
        public Task Wait() {
            Current.State |= Suspended;
            return Current;
        }

        /// <summary>Resumes a held task; the one of higher priority runs.</summary>
        public Task Release(int id) {
            Task t = All[id];
            t.State &= ~Held;
            return t.Priority > Current.Priority ? t : Current;
        }

        /// <summary>Sends a packet to its task, which runs if it was waiting and has a higher priority.</summary>
        public Task Queue(Packet p) {
            Task t = All[p.To];
            Queued++;
            p.Link = null;
            p.To = Current.Id;
            if (t.Waiting != null) {
                p.AppendTo(t.Waiting);
                return Current;
            }
            t.Waiting = p;
            t.State |= Runnable;
            return t.Priority > Current.Priority ? t : Current;
        }

        /// <summary>Runs the highest-priority runnable task until there is none.</summary>
        public void Schedule() {
            Task t = All[Tasks - 1];
            while (t != null) {
                if ((t.State & Held) != 0 || t.State == Suspended) {
                    t = t.Link;
                    continue;
                }
                Current = t;
                t = t.Step();
            }
        }
    }

    abstract class Task {
        protected readonly Scheduler scheduler;
        public readonly Task Link; // the next lower priority
        public readonly int Id;
        public readonly int Priority;
        public int State = Suspended;
        public Packet Waiting;

        /// <summary>Creates a task with a number of packets in its queue.</summary>
        protected Task(Scheduler scheduler, int id, int packets, int to, int kind) {
            this.scheduler = scheduler;
            Id = id;
            Priority = id * 1000;
            Link = id > 0 ? scheduler.All[id - 1] : null;
            scheduler.All[id] = this;
            for (int i = 0; i < packets; i++) {
                Waiting = new Packet(to, kind).AppendTo(Waiting);
                State = Suspended | Runnable;
            }
        }

        /// <summary>Runs with a packet, or null, and returns the next task.</summary>
        protected abstract Task Run(Packet p);

        /// <summary>Runs with the next packet if the task was waiting for one.</summary>
        public Task Step() {
            Packet p = null;
            if (State == (Suspended | Runnable)) {
                p = Waiting;
                Waiting = p.Link;
                State = Waiting != null ? Runnable : 0;
            }
            return Run(p);
        }
    }

    sealed class Idle : Task {
        int count; // remaining runs
        int choice = 1; // random bits

        public Idle(Scheduler scheduler, int count) : base(scheduler, IdleId, 0, 0, DevicePacket) {
            this.count = count;
            State = 0;
        }

        protected override Task Run(Packet p) {
            int bit = choice & 1;
            if (--count == 0) {
                return scheduler.Hold();
            }
            choice >>= 1;
            if (bit == 0) {
                return scheduler.Release(DeviceA);
            }
            choice ^= 0xD008;
            return scheduler.Release(DeviceB);
        }
    }

    sealed class Worker : Task {
        int count; // the last letter written
        int choice = HandlerA; // the last handler served

        public Worker(Scheduler scheduler) : base(scheduler, WorkerId, 2, WorkerId, WorkPacket) {
        }

        protected override Task Run(Packet p) {
            if (p == null) {
                return scheduler.Wait();
            }
            choice = choice == HandlerA ? HandlerB : HandlerA;
            p.To = choice;
            p.Used = 0;
            for (int i = 0; i < Data; i++) {
                count = count == Letters ? 1 : count + 1;
                p.Contents[i] = count;
            }
            return scheduler.Queue(p);
        }
    }

    sealed class Handler : Task {
        Packet work, device; // waiting packets

        public Handler(Scheduler scheduler, int id, int to) : base(scheduler, id, 3, to, DevicePacket) {
        }

        protected override Task Run(Packet p) {
            if (p != null && p.Kind == WorkPacket) {
                work = p.AppendTo(work);
            } else if (p != null) {
                device = p.AppendTo(device);
            }
            Packet head = work;
            if (head == null) {
                return scheduler.Wait();
            }
            if (head.Used == Data) {
                work = head.Link;
                return scheduler.Queue(head);
            }
            Packet output = device;
            if (output == null) {
                return scheduler.Wait();
            }
            device = output.Link;
            output.Used = head.Contents[head.Used++];
            return scheduler.Queue(output);
        }
    }

    sealed class Device : Task {
        Packet device; // the current packet

        public Device(Scheduler scheduler, int id) : base(scheduler, id, 0, 0, DevicePacket) {
        }

        protected override Task Run(Packet p) {
            if (p != null) {
                device = p;
                return scheduler.Hold();
            }
            Packet done = device;
            if (done == null) {
                return scheduler.Wait();
            }
            device = null;
            return scheduler.Queue(done);
        }
    }

    public static double Checksum(int n) {
        if (n < 1 || n > Most) {
            Refuse("parameter " + n + " is not within 1 to " + Most);
        }
        Scheduler s = new Scheduler();
        new Idle(s, n);
        new Worker(s);
        new Handler(s, HandlerA, DeviceA);
        new Handler(s, HandlerB, DeviceB);
        new Device(s, DeviceA);
        new Device(s, DeviceB);
        s.Schedule();
        return (double)s.Queued * 16777216 + s.Holds;
    }

    /// <summary>Known checksums; README.md lists their origin.</summary>
    static readonly Dictionary<int, double> known = new Dictionary<int, double> {
        { 1000, 38956696480 },
        { 10000, 390003172433 },
        { 15000, 586514708127 },
        { 300000, 11708785771126 },
    };

    /// <summary>Checksums of the first iteration.</summary>
    static readonly Dictionary<int, double> first = new Dictionary<int, double>();

    /// <summary>Returns the expected checksum for n: the known one, else that of the first iteration.</summary>
    static double Expected(int n, double got) {
        double sum;
        if (known.TryGetValue(n, out sum)) {
            return sum;
        }
        if (!first.ContainsKey(n)) {
            first[n] = got;
        }
        return first[n];
    }

    static void Refuse(string text) {
        Console.WriteLine("richards: " + text);
        Environment.Exit(1);
    }

    static string Digits(double x) {
        return x.ToString("G17", CultureInfo.InvariantCulture);
    }

    public static void run_iter(int n) {
        double got = Checksum(n);
        double want = Expected(n, got);
        if (got != want) {
            Refuse("parameter " + n + ": checksum " + Digits(got) + ", expected " + Digits(want));
        }
    }
}
