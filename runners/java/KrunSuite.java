import java.lang.reflect.InvocationTargetException;

/**
 * The hook of a benchmark suite: KrunRunner loads it in the place of a benchmark. A hook whose suite
 * has a main program runs that, and the suite calls the hook back.
 */
public interface KrunSuite {
    /**
     * Runs the benchmark: while KrunRunner.again(), one iteration between KrunRunner.beginIteration
     * and endIteration. The parameter is the number of inner iterations.
     */
    void run(int parameter) throws Exception;

    /** Runs the main program of the class, which may exit the process. */
    static void program(String name, String... args) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
        }
    }
}
