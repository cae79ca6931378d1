/** The hook of a benchmark suite: KrunRunner loads it in the place of a benchmark. */
public interface KrunSuite extends BaseKrunEntry {
    /** Returns what the suite itself measured for the last iteration, in nanoseconds. */
    long time();
}
