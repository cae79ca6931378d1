using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;

/// <summary>
/// Iteration runner for .NET: Mono.
///
///   mono KrunRunner.exe BENCHMARK_FILE PARAMETER
///
/// Loads the assembly, finds the class that has a public static void run_iter(int),
/// and calls it until libkrun says stop. libkrun.so is in the directory of this file.
///
/// With KRUN_INSTRUMENT the columns gc_count, heap_used and jit_count are set after each
/// iteration. Mono does not report events.
///
/// Exit status: 0 measured; 64 usage; 65 the assembly has no run_iter; 66 it cannot
/// be loaded; 69 libkrun.so cannot be loaded; 70 the benchmark raised an exception;
/// 71 krun_init failed; 76 krun_begin or krun_end failed. If the benchmark exits by
/// itself, its status is kept.
/// </summary>
static class KrunRunner {
    const int ExitUsage = 64;
    const int ExitNoEntry = 65;
    const int ExitBenchmark = 66;
    const int ExitLibrary = 69;
    const int ExitException = 70;
    const int ExitInit = 71;
    const int ExitMeasure = 76;

    const int Version = 1; // KRUN_VERSION of krun.h

    [DllImport("krun")]
    static extern int krun_version();

    [DllImport("krun")]
    static extern int krun_init(out IntPtr handle);

    [DllImport("krun")]
    static extern int krun_should_stop(IntPtr handle);

    [DllImport("krun")]
    static extern int krun_begin(IntPtr handle);

    [DllImport("krun")]
    static extern int krun_end(IntPtr handle);

    [DllImport("krun")]
    static extern int krun_done(IntPtr handle);

    [DllImport("krun")]
    static extern IntPtr krun_strerror(int code);

    [DllImport("krun")]
    static extern int krun_column(IntPtr handle, string name, string unit);

    [DllImport("krun")]
    static extern int krun_set(IntPtr handle, int column, long value);

    /// <summary>The argument of run_iter. A static field is read again in each iteration.</summary>
    static int parameter;

    static void Main(string[] args) {
        if (args.Length != 2 || !Regex.IsMatch(args[1], @"\A-?[0-9]+\z")
            || !int.TryParse(args[1], out parameter)) {
            Console.Error.WriteLine("usage: KrunRunner.exe BENCHMARK_FILE PARAMETER (an integer)");
            Environment.Exit(ExitUsage);
        }
        Bind();
        IntPtr handle;
        int code = krun_init(out handle);
        if (code != 0) {
            Fail(ExitInit, "krun_init: " + ErrorText(code), null);
        }
        Action<int> entry = Load(args[0]);
        try {
            code = Environment.GetEnvironmentVariable("KRUN_INSTRUMENT") == null
                ? Measure(handle, entry) : MeasureColumns(handle, entry);
        } catch (Exception e) {
            Fail(ExitException, args[0] + " raised an exception in run_iter", e);
        }
        if (code != 0) {
            Fail(ExitMeasure, "krun_begin or krun_end: " + ErrorText(code), null);
        }
        Environment.Exit(0); // even if the benchmark left threads running
    }

    /// <summary>
    /// Calls everything that the loop calls once, because the VM resolves a function at
    /// its first call. libkrun rejects the null handle.
    /// </summary>
    static void Bind() {
        int found = 0;
        try {
            found = krun_version();
            if (found == Version) {
                krun_should_stop(IntPtr.Zero);
                krun_begin(IntPtr.Zero);
                krun_end(IntPtr.Zero);
                krun_done(IntPtr.Zero);
                krun_strerror(0);
            }
        } catch (Exception e) { // DllNotFoundException, EntryPointNotFoundException
            Fail(ExitLibrary, "cannot load libkrun: " + OneLine(e)
                + "; install libkrun.so beside KrunRunner.exe", null);
        }
        if (found != Version) {
            Fail(ExitLibrary, "libkrun.so has interface version " + found + ", this runner needs " + Version
                + "; install both together", null);
        }
    }

    /// <summary>Returns run_iter of the assembly at a path.</summary>
    static Action<int> Load(string path) {
        try {
            foreach (Type type in Assembly.LoadFrom(path).GetTypes()) {
                MethodInfo method = type.GetMethod("run_iter", BindingFlags.Public | BindingFlags.Static,
                    null, new[] { typeof(int) }, null);
                if (method != null && method.ReturnType == typeof(void)) {
                    RuntimeHelpers.RunClassConstructor(type.TypeHandle);
                    return (Action<int>)Delegate.CreateDelegate(typeof(Action<int>), method);
                }
            }
        } catch (Exception e) {
            Fail(ExitBenchmark, "cannot load " + path,
                e is TypeInitializationException ? e.InnerException : e);
        }
        Fail(ExitNoEntry, path + " has no function run_iter: no class has a public static void run_iter(int)",
            null);
        return null;
    }

    /// <summary>
    /// Iterates until libkrun says stop; returns the code of the call that failed, or 0.
    /// The result of krun_begin is not checked, because the check would be measured, and
    /// krun_end reports the same error.
    /// </summary>
    static int Measure(IntPtr handle, Action<int> run_iter) {
        while (krun_should_stop(handle) == 0) {
            krun_begin(handle);
            run_iter(parameter);
            int code = krun_end(handle);
            if (code != 0) {
                return code;
            }
        }
        return krun_done(handle);
    }

    /// <summary>Like Measure, and sets columns after each iteration.</summary>
    static int MeasureColumns(IntPtr handle, Action<int> run_iter) {
        int gc_count = krun_column(handle, "gc_count", ""), heap_used = krun_column(handle, "heap_used", "bytes"),
            jit_count = krun_column(handle, "jit_count", "");
        var jitted = new PerformanceCounter(".NET CLR JIT", "# of IL Methods JITted", "");
        krun_set(handle, gc_count, 0); // libkrun refuses it before the first iteration, but it is bound
        long collections = Collections(), methods = jitted.RawValue;
        while (krun_should_stop(handle) == 0) {
            krun_begin(handle);
            run_iter(parameter);
            int code = krun_end(handle);
            if (code != 0) {
                return code;
            }
            long c = Collections(), m = jitted.RawValue;
            krun_set(handle, gc_count, c - collections);
            krun_set(handle, heap_used, GC.GetTotalMemory(false));
            krun_set(handle, jit_count, m - methods);
            collections = c;
            methods = m;
        }
        return krun_done(handle);
    }

    /// <summary>The collections of the nursery and of the whole heap.</summary>
    static long Collections() {
        return GC.CollectionCount(0) + GC.CollectionCount(1);
    }

    static string ErrorText(int code) {
        return Marshal.PtrToStringAnsi(krun_strerror(code));
    }

    static string OneLine(Exception e) {
        return Regex.Replace(e.GetType() + ": " + e.Message, @"\s+", " ").Trim();
    }

    /// <summary>
    /// Prints the reason to stderr and exits. With an exception it prints the stack trace
    /// first, and the message ends with the exception, because krund quotes the last line.
    /// </summary>
    static void Fail(int status, string message, Exception e) {
        if (e != null) {
            Console.Error.WriteLine(e.StackTrace);
            message += ": " + OneLine(e);
        }
        Console.Error.WriteLine("KrunRunner: " + message);
        Environment.Exit(status);
    }
}
