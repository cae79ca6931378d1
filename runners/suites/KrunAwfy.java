import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Hook of krund for are-we-fast-yet in Java: an iteration is one call of measure in the suite's
 * Run.java, which checks the result. The suite's classes are in its benchmarks.jar.
 */
public final class KrunAwfy implements KrunSuite {
    @Override
    public void run(int inner) throws Exception {
        Class<?> found = Class.forName(System.getenv("KRUN_SUITE_BENCHMARK"));
        Constructor<?> constructor = found.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object benchmark = constructor.newInstance();
        Method loop = found.getMethod("innerBenchmarkLoop", int.class);
        loop.setAccessible(true);
        while (KrunRunner.again()) {
            KrunRunner.beginIteration();
            long start = System.nanoTime();
            boolean correct;
            try {
                correct = (Boolean) loop.invoke(benchmark, inner);
            } catch (InvocationTargetException e) {
                throw new RuntimeException(e.getCause());
            }
            if (!correct) {
                throw new RuntimeException("Benchmark failed with incorrect result");
            }
            KrunRunner.endIteration(System.nanoTime() - start);
        }
    }
}
