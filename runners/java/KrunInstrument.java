import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.ArrayList;
import java.util.List;

/**
 * What the VM reports about each iteration: user columns, which KrunRunner asks for
 * when KRUN_INSTRUMENT is set. Otherwise this class is not loaded.
 *
 * Collections and compilations come from HotSpot's performance counters, memory
 * that krun.c reads. Reading them, the heap and the allocated bytes creates no
 * object, except in Java 8 to 13 for the allocated bytes; reading the code cache
 * does, and happens only after an iteration with a compilation or a collection.
 */
class KrunInstrument {
    /** Calls before the first iteration, so that the VM need not compile them while iterations run. */
    private static final int WARM = 20000;

    /** The handle of libkrun. */
    protected final long handle;

    private final Runtime runtime = Runtime.getRuntime();
    private final MemoryPoolMXBean[] codePools = findCodePools();
    private final ThreadMXBean threads = findThreads();
    private final long thread = Thread.currentThread().getId();
    private long allocated;

    KrunInstrument(long handle) {
        this.handle = handle;
        open(handle);
    }

    /** Called before the first iteration. */
    void start() {
        for (int i = 0; i < WARM; i++) {
            setColumns(); // libkrun refuses values before the first iteration
        }
        settle();
        setColumns();
    }

    /** Names the columns, and finds HotSpot's performance counters. */
    private static native void open(long handle);

    /**
     * Sets the columns of the iteration that ended: those of HotSpot's counters and
     * the given bytes, of which negative ones are unknown. Returns 1 if the size of
     * compiled code may have changed, or 0.
     */
    private static native int set(long handle, long heapUsed, long allocated);

    /** Waits until the VM compiles nothing any more, for a few seconds at most. */
    private static native void settle();

    /** Sets the column code_size of the iteration that ended, and of those that follow. */
    private static native void setCode(long handle, long bytes);

    /** Called after each iteration, outside its wall time. */
    void ended() {
        setColumns();
    }

    /** Called after the last iteration. */
    void finish() throws Exception {
    }

    private void setColumns() {
        long now = allocated();
        long used = runtime.totalMemory() - runtime.freeMemory();
        if (set(handle, used, threads == null ? -1 : now - allocated) != 0 && codePools.length > 0) {
            long code = 0;
            for (MemoryPoolMXBean pool : codePools) {
                code += pool.getUsage().getUsed();
            }
            setCode(handle, code);
        }
        allocated = allocated(); // without what was allocated here
    }

    /** The bytes that this thread has allocated. */
    private long allocated() {
        return threads == null ? 0 : threads.getThreadAllocatedBytes(thread);
    }

    private static ThreadMXBean findThreads() {
        java.lang.management.ThreadMXBean found = ManagementFactory.getThreadMXBean();
        if (found instanceof ThreadMXBean) {
            ThreadMXBean threads = (ThreadMXBean) found;
            if (threads.isThreadAllocatedMemorySupported() && threads.isThreadAllocatedMemoryEnabled()) {
                return threads;
            }
        }
        return null;
    }

    /** The parts of HotSpot's code cache. */
    private static MemoryPoolMXBean[] findCodePools() {
        List<MemoryPoolMXBean> found = new ArrayList<>();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.NON_HEAP && pool.getName().startsWith("Code")) {
                found.add(pool);
            }
        }
        return found.toArray(new MemoryPoolMXBean[0]);
    }
}
