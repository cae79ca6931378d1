import java.util.Collection;
import java.util.Collections;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;

/**
 * Hook of krund for JMH: a profiler, which JMH calls before and after each iteration. Iterations
 * have a fixed amount of work: they are single shots of as many calls as krund's parameter says,
 * without warm-up, in the process that krund started.
 */
public final class KrunJmh implements KrunSuite, InternalProfiler {
    private static String measured;

    @Override
    public void run(int calls) throws Exception {
        KrunSuite.program("org.openjdk.jmh.Main", "-f", "0", "-wi", "0", "-i", "" + KrunRunner.planned(),
            "-bm", "ss", "-bs", "" + calls, "-tu", "ns", "-foe", "true", "-prof", "KrunJmh",
            "^\\Q" + System.getenv("KRUN_SUITE_OPTIONS") + "\\E$");
    }

    @Override
    public String getDescription() {
        return "krund measures each iteration";
    }

    /** JMH runs a benchmark with values of its parameters one after the other: the first ones are measured. */
    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        String id = benchmark.id();
        measured = measured == null ? id : measured;
        if (!KrunRunner.again()) {
            System.err.println(id.equals(measured) ? "ended early" : "not measured: " + id + " and what follows, after " + measured);
            System.exit(0);
        }
        if (!id.equals(measured)) {
            throw new IllegalStateException("JMH went on with " + id + " before the last iteration of " + measured);
        }
        KrunRunner.beginIteration();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(BenchmarkParams benchmark, IterationParams iteration,
        IterationResult result) {
        KrunRunner.endIteration((long) result.getPrimaryResult().getScore());
        return Collections.emptyList();
    }
}
