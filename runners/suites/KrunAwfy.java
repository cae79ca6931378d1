import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Hook of krund for are-we-fast-yet in Java: an iteration is one call of measure in the suite's
 * Run.java, which checks the result. The suite's classes are in its benchmarks.jar.
 */
public final class KrunAwfy implements KrunSuite {
    private final Object benchmark;
    private final Method loop;
    private long time;

    public KrunAwfy() throws Exception {
        URL jar = new File(System.getenv("KRUN_SUITE_FILE")).toURI().toURL();
        Class<?> found = Class.forName(System.getenv("KRUN_SUITE_BENCHMARK"), true,
            new URLClassLoader(new URL[] {jar}, KrunAwfy.class.getClassLoader()));
        Constructor<?> constructor = found.getDeclaredConstructor();
        constructor.setAccessible(true);
        benchmark = constructor.newInstance();
        loop = found.getMethod("innerBenchmarkLoop", int.class);
        loop.setAccessible(true);
    }

    @Override
    public void run_iter(int inner) {
        long start = System.nanoTime();
        boolean correct;
        try {
            correct = (Boolean) loop.invoke(benchmark, inner);
        } catch (ReflectiveOperationException e) {
            throw new RuntimeException(e.getCause());
        }
        if (!correct) {
            throw new RuntimeException("Benchmark failed with incorrect result");
        }
        time = System.nanoTime() - start;
    }

    @Override
    public long time() {
        return time;
    }
}
