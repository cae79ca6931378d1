import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Page faults in known iterations; ../../README.md explains which. */
public class KrunEntry implements BaseKrunEntry {
    // freed memory would be used again, without faults
    private final List<ByteBuffer> kept = new ArrayList<>();
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
            kept.add(ByteBuffer.allocateDirect(8 << 20)); // writes zeros to each page
        }
        sink = work();
    }
}
