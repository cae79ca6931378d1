import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

// Cases.java - the benchmarks that java_test.go runs, a class each.

class Sums implements BaseKrunEntry {
    static long total;

    public void run_iter(int n) {
        for (int i = 0; i < n; i++) {
            total += i;
        }
    }
}

class Prints implements BaseKrunEntry {
    public void run_iter(int n) {
        System.out.println(n);
    }
}

class WrongChecksum implements BaseKrunEntry {
    private int calls;

    public void run_iter(int n) {
        if (++calls == 4) {
            System.out.println("bad checksum");
            System.exit(1);
        }
    }
}

class Exits implements BaseKrunEntry {
    public void run_iter(int n) {
        System.exit(n);
    }
}

class Raises implements BaseKrunEntry {
    private int calls;

    public void run_iter(int n) {
        if (++calls == 3) {
            throw new IllegalStateException("the\n third");
        }
    }
}

class RaisesUnspeakable implements BaseKrunEntry {
    static class Odd extends Error {
        private static final long serialVersionUID = 1;

        @Override
        public String toString() {
            throw new IllegalStateException();
        }
    }

    public void run_iter(int n) {
        throw new Odd();
    }
}

class Overflows implements BaseKrunEntry {
    public void run_iter(int n) {
        run_iter(n + 1);
    }
}

class FillsMemory implements BaseKrunEntry {
    private static final List<byte[]> kept = new ArrayList<>();

    public void run_iter(int n) {
        while (true) {
            kept.add(new byte[n]);
        }
    }
}

class LeavesThread implements BaseKrunEntry {
    public void run_iter(int n) {
        Thread t = new Thread() {
            @Override
            public void run() {
                synchronized (this) {
                    while (true) {
                        try {
                            wait();
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                }
            }
        };
        t.start();
    }
}

class NoEntry {
    public void run_iter(int n) {
        System.out.println("without the interface");
    }
}

abstract class Abstract implements BaseKrunEntry {
}

class NeedsArgument implements BaseKrunEntry {
    NeedsArgument(int n) {
        System.out.println(n);
    }

    public void run_iter(int n) {
    }
}

class RaisesAtLoad implements BaseKrunEntry {
    static final int zero = 0;
    static final int bad = 1 / zero;

    public void run_iter(int n) {
    }
}

class RaisesWhenMade implements BaseKrunEntry {
    RaisesWhenMade() throws IOException {
        throw new IOException("no data");
    }

    public void run_iter(int n) {
    }
}

class ExitsAtLoad implements BaseKrunEntry {
    static {
        System.exit(5);
    }

    public void run_iter(int n) {
    }
}

/** As people wrote them for Krun: other classes and data beside it, text on stdout. */
class KrunEntry implements BaseKrunEntry {
    private final Beside beside;

    private KrunEntry() throws IOException {
        try (BufferedReader data = new BufferedReader(new InputStreamReader(getClass().getResourceAsStream("data.txt")))) {
            beside = new Beside(data.readLine());
        }
    }

    public void run_iter(int n) {
        System.out.print(beside.twice(n) + " ");
    }
}

class Beside {
    private final String text;

    Beside(String text) {
        this.text = text;
    }

    String twice(int n) {
        return text + 2 * n;
    }
}
