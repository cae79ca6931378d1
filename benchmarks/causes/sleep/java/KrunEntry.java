/** Sleep in known iterations; ../../README.md explains which. */
public class KrunEntry implements BaseKrunEntry {
    private int iterations;
    private int sink;

    /** The usual work of an iteration. */
    static int work() {
        int x = 1;
        for (int i = 0; i < 1000000; i++) {
            x = x * 69069 + 1 ^ x >>> 7;
        }
        return x;
    }

    @Override
    public void run_iter(int n) {
        if (iterations++ % 50 == n % 50) {
            try {
                Thread.sleep(3);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        sink = work();
    }
}
