import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
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
        String[] options = System.getenv("KRUN_SUITE_OPTIONS").split("\n");
        List<String> arguments = new ArrayList<>(Arrays.asList("-f", "0", "-wi", "0", "-i", "" + KrunRunner.planned(),
            "-bm", "ss", "-bs", "" + calls, "-tu", "ns", "-foe", "true", "-prof", "KrunJmh"));
        for (int i = 1; i < options.length; i++) {
            arguments.addAll(Arrays.asList("-p", options[i]));
        }
        arguments.add("^\\Q" + options[0] + "\\E$");
        KrunSuite.program("org.openjdk.jmh.Main", arguments.toArray(new String[0]));
    }

    @Override
    public String getDescription() {
        return "krund measures each iteration";
    }

    /** JMH runs combinations of parameters that were not asked for one after the other: the first is measured. */
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
