/**
 * What a benchmark in Java implements. The runner makes one object of the
 * benchmark's class, before it measures, and calls its run_iter again and again.
 * The name and the method are those benchmarks were written to for Krun.
 */
public interface BaseKrunEntry {
    /** One in-process iteration with the experiment's parameter. */
    void run_iter(int param);
}
