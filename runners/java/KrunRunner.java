import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;

/**
 * Iteration runner for Java 8 and later.
 *
 * <pre>java -cp DIRECTORY_OF_THIS_CLASS:DIRECTORY_OF_THE_BENCHMARK KrunRunner CLASS PARAMETER</pre>
 *
 * Creates an object of the class, which implements BaseKrunEntry, and calls its
 * run_iter(PARAMETER) until libkrun says stop. libkrun is linked into
 * libkrunjava.so, which is in the directory of this class.
 *
 * Exit status: 0 measured; 64 usage; 65 the class does not implement
 * BaseKrunEntry; 66 the class cannot be loaded; 69 libkrunjava.so cannot be
 * loaded; 70 the benchmark raised an exception; 71 krun_init failed; 76 krun_begin
 * or krun_end failed; 78 the VM cannot report what KRUN_INSTRUMENT asks for. If the
 * benchmark exits by itself, its status is kept.
 */
public final class KrunRunner implements BaseKrunEntry {
    private static final int EXIT_USAGE = 64;
    private static final int EXIT_NO_ENTRY = 65;
    private static final int EXIT_BENCHMARK = 66;
    private static final int EXIT_LIBRARY = 69;
    private static final int EXIT_EXCEPTION = 70;
    private static final int EXIT_INIT = 71;
    private static final int EXIT_MEASURE = 76;
    private static final int EXIT_INSTRUMENT = 78;

    private static final int VERSION = 1; // KRUN_VERSION of krun.h
    private static final String LIBRARY = "libkrunjava.so";

    /**
     * The argument of run_iter. The field is not final: the compiler must assume
     * that a native method changes it, so it reads it again in each iteration and
     * cannot hoist work that depends only on the parameter out of the loop.
     */
    private static int parameter;

    /** Memory that is released when the benchmark has used all memory, so that this can be reported. */
    private static byte[] reserve = new byte[1 << 20];

    /** The class that is caught, resolved early: without memory no class can be resolved. */
    static final Class<?> CAUGHT = Throwable.class;

    private KrunRunner() {
    }

    private static native int version();

    /** A handle, or an error of libkrun, which is negative. */
    private static native long init();

    /** What KRUN_INSTRUMENT asks for: 0 nothing, 1 columns, 2 columns and events. */
    private static native int instrument();

    private static native int shouldStop(long handle);

    private static native void begin(long handle);

    private static native int end(long handle);

    private static native int done(long handle);

    /** The number of planned iterations. */
    private static native int iterations(long handle);

    /** The column suite_time. */
    private static native int suiteColumn(long handle);

    private static native void set(long handle, int column, long value);

    /** Character i of libkrun's explanation of a code, 0 after its end. */
    private static native int explanation(int code, int i);

    /** Ends the process at once, bypassing Java; status 0 does nothing. */
    private static native void halt(int status);

    /** What the hook of a suite needs between its calls: it may be called back by the suite's own program. */
    private static long handle;
    private static int column;
    private static KrunInstrument vm;
    private static boolean ended;

    /** The number of iterations that a suite is to run, at most. */
    public static int planned() {
        return iterations(handle);
    }

    /** Whether a suite is to run another iteration. After the last one the measurement has ended. */
    public static boolean again() {
        if (!ended && shouldStop(handle) != 0) {
            ended = true;
            check(vm == null ? done(handle) : done(handle, vm));
        }
        return !ended;
    }

    /** Begins an iteration of a suite. */
    public static void beginIteration() {
        begin(handle);
    }

    /** Ends it; the suite itself measured these nanoseconds. */
    public static void endIteration(long nanoseconds) {
        check(end(handle));
        set(handle, column, nanoseconds);
        if (vm != null) {
            vm.ended();
        }
    }

    private static void check(int code) {
        if (code != 0) {
            throw fail(EXIT_MEASURE, "krun_begin or krun_end: " + errorText(code), null);
        }
    }

    /** Runs the benchmark named by the arguments, and exits. */
    public static void main(String[] args) {
        if (args.length != 2 || !parse(args[1])) {
            System.err.println("usage: KrunRunner CLASS PARAMETER (an integer)");
            System.exit(EXIT_USAGE);
        }
        openLibrary();
        handle = init();
        if (handle < 0) {
            throw fail(EXIT_INIT, "krun_init: " + errorText((int) handle), null);
        }
        Object entry = load(args[0]);
        String raised = args[0] + " raised an exception in run_iter";
        int level = instrument();
        vm = level == 0 ? null : openInstrument(handle, level);
        try {
            if (entry instanceof KrunSuite) {
                column = suiteColumn(handle);
                ((KrunSuite) entry).run(parameter);
            } else {
                check(vm == null ? measure(handle, (BaseKrunEntry) entry) : measure(handle, (BaseKrunEntry) entry, vm));
            }
        } catch (Throwable e) {
            throw fail(EXIT_EXCEPTION, raised, e);
        }
        if (again()) {
            throw fail(EXIT_BENCHMARK, "the suite ended before its last iteration", null);
        }
        System.exit(0); // even if the benchmark left threads running
    }

    /** Sets the parameter to a decimal int; returns false if the text is not one. */
    private static boolean parse(String text) {
        if (text.startsWith("+")) {
            return false;
        }
        try {
            parameter = Integer.parseInt(text);
        } catch (NumberFormatException e) {
            return false;
        }
        return true;
    }

    /** Loads the native methods from the directory of this class, and binds each. */
    private static void openLibrary() {
        int found;
        try {
            File here = new File(KrunRunner.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            System.load(new File(here, LIBRARY).getPath());
            found = version();
            if (found == VERSION) {
                bind(new KrunRunner());
            }
        } catch (Throwable e) {
            throw fail(EXIT_LIBRARY, "cannot load " + LIBRARY + ": " + oneLine(e) + "; install it beside KrunRunner.class", null);
        }
        if (found != VERSION) {
            throw fail(EXIT_LIBRARY, LIBRARY + " has interface version " + found + ", this runner needs " + VERSION
                + "; install both together", null);
        }
    }

    /**
     * Calls everything that the loop calls once, because a VM resolves a method at
     * its first call. libkrun rejects the null handle.
     */
    private static void bind(BaseKrunEntry nothing) {
        shouldStop(0);
        begin(0);
        nothing.run_iter(parameter);
        end(0);
        done(0);
        halt(0);
    }

    /** Does nothing; bind calls it. */
    @Override
    public void run_iter(int param) {
    }

    /** Returns the benchmark: an object of the class with this name, which has a constructor without arguments. */
    private static Object load(String name) {
        try {
            Class<?> found = Class.forName(name);
            if (!BaseKrunEntry.class.isAssignableFrom(found) && !KrunSuite.class.isAssignableFrom(found)) {
                throw fail(EXIT_NO_ENTRY, name + " has no function run_iter: it does not implement BaseKrunEntry", null);
            }
            Constructor<?> constructor = found.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (InvocationTargetException | ExceptionInInitializerError e) {
            throw fail(EXIT_BENCHMARK, name + " raised an exception while it was loaded", e.getCause());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw fail(EXIT_BENCHMARK, "cannot load the benchmark: " + oneLine(e), null);
        } catch (Throwable e) {
            throw fail(EXIT_BENCHMARK, name + " raised an exception while it was loaded", e);
        }
    }

    /**
     * Iterates until libkrun says stop; returns the code of the call that failed, or 0.
     * The result of begin is not checked, because the check would be measured, and
     * end reports the same error.
     */
    private static int measure(long handle, BaseKrunEntry entry) {
        while (shouldStop(handle) == 0) {
            begin(handle);
            entry.run_iter(parameter);
            int code = end(handle);
            if (code != 0) {
                return code;
            }
        }
        return 0;
    }

    /** The same with a VM that reports about each iteration. */
    private static int measure(long handle, BaseKrunEntry entry, KrunInstrument vm) {
        while (shouldStop(handle) == 0) {
            begin(handle);
            entry.run_iter(parameter);
            int code = end(handle);
            if (code != 0) {
                return code;
            }
            vm.ended();
        }
        return 0;
    }

    /** Ends the measurement after the VM has reported. */
    private static int done(long handle, KrunInstrument vm) {
        try {
            vm.finish();
        } catch (Throwable e) {
            throw fail(EXIT_INSTRUMENT, "cannot read what the VM recorded", e);
        }
        return done(handle);
    }

    /**
     * Returns the VM's reports, which have begun. KrunEvents is found by its name, because a VM before
     * Java 11 cannot load it.
     */
    private static KrunInstrument openInstrument(long handle, int level) {
        try {
            KrunInstrument vm = level == 1 ? new KrunInstrument(handle)
                : (KrunInstrument) Class.forName("KrunEvents").getDeclaredConstructor(long.class).newInstance(handle);
            vm.start();
            return vm;
        } catch (InvocationTargetException e) {
            throw cannotInstrument(e.getCause());
        } catch (Throwable e) {
            throw cannotInstrument(e);
        }
    }

    private static Error cannotInstrument(Throwable e) {
        return fail(EXIT_INSTRUMENT, "this VM cannot report what KRUN_INSTRUMENT asks for"
            + " (events need JDK Flight Recorder and Java 11): " + oneLine(e), null);
    }

    /** Returns libkrun's explanation of a code. */
    private static String errorText(int code) {
        StringBuilder text = new StringBuilder();
        for (int i = 0, c; (c = explanation(code, i)) != 0; i++) {
            text.append((char) c);
        }
        return text.toString();
    }

    /** Returns the exception as one line, or its class name if even that raises an exception. */
    private static String oneLine(Throwable e) {
        try {
            return e.toString().trim().replaceAll("\\s+", " ");
        } catch (Throwable another) {
            return e.getClass().getName();
        }
    }

    private static void printTrace(Throwable e) {
        try {
            e.printStackTrace();
        } catch (Throwable another) {
            System.err.println("(no stack trace)");
        }
    }

    /**
     * Prints the reason to stderr and exits; never returns. With an exception it
     * prints the stack trace first, and the message ends with the exception, because
     * krund quotes the last line. A VM without memory for that is ended natively.
     */
    private static Error fail(int status, String message, Throwable e) {
        reserve = null;
        try {
            if (e != null) {
                printTrace(e);
                message += ": " + oneLine(e);
            }
            System.err.println("KrunRunner: " + message);
            System.exit(status);
        } finally {
            halt(status);
        }
        return new Error(message);
    }
}
