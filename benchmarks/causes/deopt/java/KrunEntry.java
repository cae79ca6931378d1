/** A new type in a known iteration; ../../README.md explains which. */
public class KrunEntry implements BaseKrunEntry {
    static class First {
        int value;

        int get(int x) {
            return x * 69069 + value;
        }
    }

    static class Second extends First {
        @Override
        int get(int x) {
            return (x * 69069 ^ x >>> 7) + value;
        }
    }

    private final First[] same = new First[64];
    private final First[] mixed = new First[64];
    private int iterations;
    private int sink;

    public KrunEntry() {
        for (int i = 0; i < 64; i++) {
            same[i] = new First();
            mixed[i] = i % 2 == 0 ? new First() : new Second();
        }
    }

    /** The usual work of an iteration, with one class until another comes. */
    static int work(First[] objects) {
        int x = 1;
        for (int i = 0; i < 1000000; i++) {
            x = objects[i & 63].get(x);
        }
        return x;
    }

    @Override
    public void run_iter(int n) {
        sink = work(iterations++ < 100 + 37 * n % 100 ? same : mixed);
    }
}
