/** A function that becomes hot in a known iteration; ../../README.md explains which. */
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

    /** Half as much work again. */
    static int fresh() {
        int x = 1;
        for (int i = 0; i < 1500000; i++) {
            x = x * 69069 + 1 ^ x >>> 7;
        }
        return x;
    }

    @Override
    public void run_iter(int n) {
        sink = iterations++ < 100 + 37 * n % 100 ? work() : fresh();
    }
}
