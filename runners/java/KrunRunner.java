import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;

/**
 * Iteration runner for Java 8 and later.
 *
 * <pre>java -cp FOLDER_OF_THIS_CLASS:FOLDER_OF_THE_BENCHMARK KrunRunner CLASS PARAMETER</pre>
 *
 * Makes an object of the class, which implements BaseKrunEntry, and calls its
 * run_iter(PARAMETER) until libkrun says stop. libkrun is linked into
 * libkrunjava.so, which lies beside this class.
 *
 * Exit status: 0 measured; 64 usage; 65 the class does not implement
 * BaseKrunEntry; 66 the class cannot be loaded; 69 libkrunjava.so cannot be
 * loaded; 70 the benchmark raised an exception; 71 krun_init failed; 76 krun_begin
 * or krun_end failed. A status the benchmark exits with by itself is kept.
 */
public final class KrunRunner implements BaseKrunEntry {
    private static final int EXIT_USAGE = 64;
    private static final int EXIT_NO_ENTRY = 65;
    private static final int EXIT_BENCHMARK = 66;
    private static final int EXIT_LIBRARY = 69;
    private static final int EXIT_EXCEPTION = 70;
    private static final int EXIT_INIT = 71;
    private static final int EXIT_MEASURE = 76;

    private static final int VERSION = 1; // KRUN_VERSION of krun.h
    private static final String LIBRARY = "libkrunjava.so";

    /**
     * What run_iter is called with. A field, and not final: a compiler must
     * expect a native method to change it, so it reads it anew in each iteration
     * and cannot move work that depends on the parameter alone out of the loop.
     */
    private static int parameter;

    /** Memory to be given up when the benchmark has used all of it, so that this can be said. */
    private static byte[] reserve = new byte[1 << 20];

    /** What is caught, looked up early: without memory no class can be found any more. */
    static final Class<?> CAUGHT = Throwable.class;

    private KrunRunner() {
    }

    private static native int version();

    /** A handle, or one of libkrun's errors, which are negative. */
    private static native long init();

    private static native int shouldStop(long handle);

    private static native void begin(long handle);

    private static native int end(long handle);

    private static native int done(long handle);

    /** Character i of libkrun's explanation of a code, 0 behind its end. */
    private static native int explanation(int code, int i);

    /** End the process at once, without Java's help; status 0 does nothing. */
    private static native void halt(int status);

    /** Run the benchmark that the arguments name, and exit. */
    public static void main(String[] args) {
        if (args.length != 2 || !parse(args[1])) {
            System.err.println("usage: KrunRunner CLASS PARAMETER (an integer)");
            System.exit(EXIT_USAGE);
        }
        openLibrary();
        long handle = init();
        if (handle < 0) {
            throw fail(EXIT_INIT, "krun_init: " + errorText((int) handle), null);
        }
        BaseKrunEntry entry = load(args[0]);
        String raised = args[0] + " raised an exception in run_iter";
        int code;
        try {
            code = measure(handle, entry);
        } catch (Throwable e) {
            throw fail(EXIT_EXCEPTION, raised, e);
        }
        if (code != 0) {
            throw fail(EXIT_MEASURE, "krun_begin or krun_end: " + errorText(code), null);
        }
        System.exit(0); // also when the benchmark has left threads
    }

    /** Set the parameter to a decimal int; false when the text is none. */
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

    /** Load the native methods from beside this class, and bind each. */
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
     * Call once what the loop calls: a VM looks up a method by its name when it is
     * called for the first time. libkrun refuses the null handle.
     */
    private static void bind(BaseKrunEntry nothing) {
        shouldStop(0);
        begin(0);
        nothing.run_iter(parameter);
        end(0);
        done(0);
        halt(0);
    }

    /** Does nothing: it is what bind calls. */
    @Override
    public void run_iter(int param) {
    }

    /** The benchmark: an object of the class with this name, whose constructor takes no arguments. */
    private static BaseKrunEntry load(String name) {
        try {
            Class<?> found = Class.forName(name);
            if (!BaseKrunEntry.class.isAssignableFrom(found)) {
                throw fail(EXIT_NO_ENTRY, name + " has no function run_iter: it does not implement BaseKrunEntry", null);
            }
            Constructor<?> constructor = found.getDeclaredConstructor();
            constructor.setAccessible(true);
            return (BaseKrunEntry) constructor.newInstance();
        } catch (InvocationTargetException | ExceptionInInitializerError e) {
            throw fail(EXIT_BENCHMARK, name + " raised an exception while it was loaded", e.getCause());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw fail(EXIT_BENCHMARK, "cannot load the benchmark: " + oneLine(e), null);
        } catch (Throwable e) {
            throw fail(EXIT_BENCHMARK, name + " raised an exception while it was loaded", e);
        }
    }

    /**
     * Iterate until libkrun says stop; the code of the call that failed, or 0.
     * What begin would return is not looked at: that would be measured, and end
     * reports the same error.
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
        return done(handle);
    }

    /** libkrun's explanation of a code. */
    private static String errorText(int code) {
        StringBuilder text = new StringBuilder();
        for (int i = 0, c; (c = explanation(code, i)) != 0; i++) {
            text.append((char) c);
        }
        return text.toString();
    }

    /** What the exception says of itself, or its class's name if even that raises one. */
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
     * Say why on stderr and exit; never returns. With an exception its trace comes
     * first, and the message ends in the exception: krund quotes the last line.
     * A VM that has no memory even for that is ended without it.
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
