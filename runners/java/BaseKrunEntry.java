/**
 * The interface of a benchmark in Java. The runner creates one object of the
 * benchmark's class before it measures and calls its run_iter repeatedly. The
 * names are those of Krun, so that its benchmarks run unchanged.
 */
public interface BaseKrunEntry {
    /** One in-process iteration with the experiment's parameter. */
    void run_iter(int param);
}
