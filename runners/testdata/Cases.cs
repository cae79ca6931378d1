using System;
using System.Threading;

/// <summary>A benchmark whose variable CASE selects what run_iter does.</summary>
public static class Cases {
    static readonly string which = Environment.GetEnvironmentVariable("CASE");
    static int calls;

    static Cases() {
        if (which == "load") {
            throw new InvalidOperationException("no data");
        }
    }

    public static void run_iter(int n) {
        calls++;
        switch (which) {
        case "print":
            Console.WriteLine(n);
            break;
        case "wrong":
            if (calls == 4) {
                Console.WriteLine("bad checksum");
                Environment.Exit(1);
            }
            break;
        case "gc": // as benchmarks/causes/gc
            if ((calls - 1) % 50 == n % 50) {
                GC.Collect();
            }
            break;
        case "exception":
            if (calls == 3) {
                throw new InvalidOperationException("the\nthird");
            }
            break;
        case "thread":
            if (calls == 1) {
                new Thread(() => Thread.Sleep(Timeout.Infinite)).Start();
            }
            break;
        }
    }
}
