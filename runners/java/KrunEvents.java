import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordingFile;

/**
 * The columns of KrunInstrument, and what the VM did when: JDK Flight Recorder
 * records it in memory while iterations run. After the last one this class reads the
 * recording and gives its events to libkrun. It needs Java 11.
 *
 * Flight Recorder has a clock of its own. Events of this class, which contain stamps
 * of libkrun's clock, relate the two.
 */
final class KrunEvents extends KrunInstrument {
    private static final int GC = 1; // enum krun_event_kind of krun.h
    private static final int COMPILE = 2;
    private static final int DEOPT = 3;
    private static final int CODE = 4;
    private static final int LOAD = 5;
    private static final int PAUSE = 6;
    private static final int MARK = 7;

    private static final long MISSING = Long.MIN_VALUE; // KRUN_MISSING

    private static final String[] RECORDED = {
        "jdk.GarbageCollection", "jdk.GCPhasePause", "jdk.GCHeapSummary", "jdk.Compilation",
        "jdk.Deoptimization", "jdk.CodeCacheFull", "jdk.ClassLoad", "jdk.ExecuteVMOperation",
    };

    /** Methods that run because of Flight Recorder and the runner. */
    private static final Pattern OWN = Pattern.compile("^(jdk\\.jfr\\.|Krun(Instrument|Events|Stamps|Runner)\\.)");

    private static final int MANY = 32; // stamps at the start and the end
    private static final int FEW = 4; // each second
    private static final long SECOND = 1_000_000_000L;

    private final Recording recording = new Recording();
    private final TreeMap<Long, Long> clock = new TreeMap<>(); // Flight Recorder's times to libkrun's
    private long started;
    private long finished;
    private long stamped;

    KrunEvents(long handle) {
        super(handle);
        recording.setToDisk(false); // no output while iterations run
        for (String name : RECORDED) {
            recording.enable(name).withoutStackTrace().withoutThreshold();
        }
        recording.enable(KrunStamps.class).withoutThreshold();
    }

    @Override
    void start() {
        recording.start();
        stamp(MANY);
        super.start();
        started = now();
    }

    /** libkrun's clock. */
    private static native long now();

    /** Sets the i-th eight characters of the next event's name; those after them are cleared. */
    private static native void name(int i, long characters);

    private static native void event(long handle, int kind, long time, long duration, long argument);

    /** Sets the column deopt_count of all iterations to the number of these events, unless some were lost. */
    private static native void countDeopts(long handle);

    @Override
    void ended() {
        super.ended();
        if (now() - stamped > SECOND) {
            stamp(FEW);
        }
    }

    /** Records pairs of stamps, of which the narrowest counts; the first ones are slow. */
    private void stamp(int count) {
        for (int i = 0; i < count; i++) {
            KrunStamps stamps = new KrunStamps();
            stamps.before = now();
            stamps.begin();
            stamps.after = now();
            stamps.commit();
            stamped = stamps.after;
        }
    }

    /** Gives the recorded events to libkrun. */
    @Override
    void finish() throws Exception {
        finished = now();
        stamp(MANY);
        Path file = Files.createTempFile("krun", ".jfr");
        try {
            recording.dump(file);
            recording.close();
            report(file);
        } finally {
            Files.delete(file);
        }
    }

    private void report(Path file) throws Exception {
        List<RecordedEvent> events = new ArrayList<>();
        // per second: Flight Recorder's time, before, after
        TreeMap<Long, long[]> narrowest = new TreeMap<>();
        long first = Long.MAX_VALUE;
        try (RecordingFile recorded = new RecordingFile(file)) {
            while (recorded.hasMoreEvents()) {
                RecordedEvent e = recorded.readEvent();
                if (e.getEventType().getName().equals("krun.Stamps")) {
                    long[] stamps = {start(e), e.getLong("before"), e.getLong("after")};
                    first = Math.min(first, stamps[1]);
                    narrowest.merge(stamps[1] / SECOND, stamps,
                        (a, b) -> a[2] - a[1] <= b[2] - b[1] ? a : b);
                } else {
                    events.add(e);
                }
            }
        }
        setClock(narrowest.values());
        boolean whole = first <= started;
        if (!whole) {
            send(MARK, first, 0, MISSING, "earlier events do not fit in the memory of JDK Flight Recorder");
        }
        Map<Integer, KrunCollection> collections = new HashMap<>();
        for (RecordedEvent e : events) {
            collect(collections, e);
        }
        TreeMap<Long, Long> pauses = new TreeMap<>(); // start and end
        for (KrunCollection c : collections.values()) {
            sendCollection(c, pauses);
        }
        for (RecordedEvent e : events) {
            sendOther(e, convert(start(e)), pauses);
        }
        if (whole && knowsDeopts()) {
            countDeopts(handle);
        }
    }

    /** Reports whether the VM records deoptimizations, as from Java 14 on. */
    private static boolean knowsDeopts() {
        for (EventType type : FlightRecorder.getFlightRecorder().getEventTypes()) {
            if (type.getName().equals("jdk.Deoptimization")) {
                return true;
            }
        }
        return false;
    }

    /** Adds an event to the collection that it is about. */
    private void collect(Map<Integer, KrunCollection> collections, RecordedEvent e) {
        if (!e.hasField("gcId")) {
            return;
        }
        KrunCollection c = collections.computeIfAbsent(e.getInt("gcId"), id -> new KrunCollection());
        long start = convert(start(e)), duration = e.getDuration().toNanos();
        switch (e.getEventType().getName()) {
            case "jdk.GarbageCollection":
                c.name = e.getString("name") + " (" + e.getString("cause") + ")";
                c.start = start;
                c.duration = duration;
                break;
            case "jdk.GCPhasePause":
                c.pauses.add(new long[] {start, duration});
                break;
            default: // jdk.GCHeapSummary
                if (e.getString("when").equals("Before GC")) {
                    c.before = e.getLong("heapUsed");
                } else {
                    c.after = e.getLong("heapUsed");
                }
        }
    }

    /**
     * Sends the pauses of a collection, and before them the collection itself if it also
     * ran beside the program. The bytes that it freed are with the first of these events.
     */
    private void sendCollection(KrunCollection c, Map<Long, Long> pauses) {
        long freed = c.freed();
        long paused = 0;
        for (long[] pause : c.pauses) {
            paused += pause[1];
            pauses.put(pause[0], pause[0] + pause[1]);
        }
        if (c.duration > 2 * paused) {
            send(GC, c.start, c.duration, freed, c.name + " concurrent");
            freed = MISSING;
        }
        for (long[] pause : c.pauses) {
            send(GC, pause[0], pause[1], freed, c.name);
            freed = MISSING;
        }
    }

    private void sendOther(RecordedEvent e, long time, NavigableMap<Long, Long> pauses) {
        if (OWN.matcher(method(e)).find()) {
            return;
        }
        long duration = e.getDuration().toNanos();
        switch (e.getEventType().getName()) {
            case "jdk.Compilation":
                send(COMPILE, time, duration, e.getInt("compileLevel"), method(e));
                break;
            case "jdk.Deoptimization":
                send(DEOPT, time, 0, e.getInt("lineNumber"), method(e) + " (" + e.getString("reason") + ")");
                break;
            case "jdk.CodeCacheFull":
                send(CODE, time, 0, MISSING, "full: " + e.getString("codeBlobType"));
                break;
            case "jdk.ClassLoad":
                send(LOAD, time, duration, MISSING, e.getClass("loadedClass").getName());
                break;
            case "jdk.ExecuteVMOperation":
                // A collection has its pause inside the operation.
                Map.Entry<Long, Long> pause = pauses.floorEntry(time + duration);
                if (e.getBoolean("safepoint") && (pause == null || pause.getValue() < time)) {
                    send(PAUSE, time, duration, MISSING, e.getString("operation"));
                }
                break;
            default: // of a collection
        }
    }

    /** Sends an event, unless it ended before the first iteration or began after the last one. */
    private void send(int kind, long time, long duration, long argument, String text) {
        if (time + duration < started || time > finished) {
            return;
        }
        int length = Math.min(text.length(), 119);
        for (int i = 0; i * 8 <= length; i++) {
            long characters = 0;
            for (int j = Math.min(length, i * 8 + 8) - 1; j >= i * 8; j--) {
                char c = text.charAt(j);
                characters = characters << 8 | (c < 128 ? c : '?');
            }
            name(i, characters);
        }
        event(handle, kind, time, duration, argument);
    }

    /** The method that an event is about, or "". */
    private static String method(RecordedEvent e) {
        RecordedMethod method = e.hasField("method") ? e.getValue("method") : null;
        return method == null ? "" : method.getType().getName() + "." + method.getName();
    }

    /** The start of an event on Flight Recorder's clock. */
    private static long start(RecordedEvent e) {
        return e.getStartTime().getEpochSecond() * SECOND + e.getStartTime().getNano();
    }

    /** Learns Flight Recorder's clock from the stamps' values there, and here before and after. */
    private void setClock(Iterable<long[]> stamps) {
        for (long[] s : stamps) {
            clock.put(s[0], s[1] + (s[2] - s[1]) / 2);
        }
    }

    /** Returns libkrun's time of a time of Flight Recorder, by interpolation between stamps. */
    private long convert(long time) {
        Map.Entry<Long, Long> low = clock.floorEntry(time), high = clock.higherEntry(time);
        if (low == null || high == null) {
            Map.Entry<Long, Long> only = low == null ? high : low;
            return only.getValue() + time - only.getKey();
        }
        double rate = (double) (high.getValue() - low.getValue()) / (high.getKey() - low.getKey());
        return low.getValue() + Math.round(rate * (time - low.getKey()));
    }
}

/** Stamps of libkrun's clock just before and after Flight Recorder read its own, the event's startTime. */
@Name("krun.Stamps")
@StackTrace(false)
final class KrunStamps extends Event {
    long before;
    long after;
}

/** A collection, from several events with the same number. */
final class KrunCollection {
    private static final long MISSING = Long.MIN_VALUE;

    String name = "";
    long start;
    long duration;
    long before = MISSING; // bytes in use
    long after = MISSING;
    final List<long[]> pauses = new ArrayList<>(); // start and duration

    /** The bytes that were freed, or MISSING. */
    long freed() {
        return before == MISSING || after == MISSING ? MISSING : before - after;
    }
}
