import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;

/**
 * fasta - write DNA sequences as lines of text: one by repeating a given piece,
 * two by choosing letters with a weighted random number.
 *
 * <pre>
 * parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
 * checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
 *            the line's character codes, modulo 2 to the 32
 * </pre>
 *
 * Based on the description in the Computer Language Benchmarks Game. Nothing is
 * printed, and each iteration starts from the same random seed.
 */
final class KrunEntry implements BaseKrunEntry {
    private static final int LINE = 60;
    private static final int MOST = 10000000;

    private static final byte[] ALU = ascii(
        "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG"
        + "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA"
        + "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT"
        + "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA"
        + "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG"
        + "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC"
        + "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA");

    private static final byte[] IUB = ascii("acgtBDHKMNRSVWY");
    private static final double[] IUB_SHARES = {
        0.27, 0.12, 0.12, 0.27, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02,
    };

    private static final byte[] HOMO_SAPIENS = ascii("acgt");
    private static final double[] HOMO_SAPIENS_SHARES = {
        0.3029549426680, 0.1979883004921, 0.1975473066391, 0.3015094502008,
    };

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** The state of one iteration. */
    static final class Writer {
        int sum; // of 32 bits without a sign
        int seed = 42;

        /** Replaces printing. */
        void write(byte[] line, int length) {
            int codes = 0;
            for (int i = 0; i < length; i++) {
                codes += line[i];
            }
            sum = sum * 31 + codes;
        }

        void write(String line) {
            write(ascii(line), line.length());
        }

        void repeat(byte[] piece, int letters) {
            byte[] line = new byte[LINE];
            int at = 0;
            while (letters > 0) {
                int length = Math.min(letters, LINE);
                for (int i = 0; i < length; i++) {
                    line[i] = piece[at];
                    at = at + 1 == piece.length ? 0 : at + 1;
                }
                write(line, length);
                letters -= length;
            }
        }

        /** In [0, 1): a linear congruential generator of small numbers, the same everywhere. */
        double randomShare() {
            seed = (seed * 3877 + 29573) % 139968;
            return seed / 139968.0;
        }

        /** The first letter whose cumulative share exceeds a random number. */
        byte choose(byte[] letters, double[] below) {
            double r = randomShare();
            int i = 0;
            while (i < letters.length - 1 && r >= below[i]) {
                i++;
            }
            return letters[i];
        }

        void randomLetters(byte[] names, double[] shares, int letters) {
            byte[] line = new byte[LINE];
            double[] below = new double[shares.length];
            double total = 0;
            for (int i = 0; i < shares.length; i++) {
                total += shares[i];
                below[i] = total;
            }
            while (letters > 0) {
                int length = Math.min(letters, LINE);
                for (int i = 0; i < length; i++) {
                    line[i] = choose(names, below);
                }
                write(line, length);
                letters -= length;
            }
        }
    }

    static double checksum(int n) {
        if (n < 0 || n > MOST) {
            System.out.println("fasta: parameter " + n + " is not within 0 to " + MOST);
            System.exit(1);
        }
        Writer w = new Writer();
        w.write(">ONE Homo sapiens alu");
        w.repeat(ALU, 2 * n);
        w.write(">TWO IUB ambiguity codes");
        w.randomLetters(IUB, IUB_SHARES, 3 * n);
        w.write(">THREE Homo sapiens frequency");
        w.randomLetters(HOMO_SAPIENS, HOMO_SAPIENS_SHARES, 5 * n);
        return w.sum & 0xFFFFFFFFL;
    }

    /** Known checksums; README.md lists their origin. */
    private static final double[][] KNOWN = {
        { 1000, 3225012143L },
        { 30000, 4059268609L },
        { 100000, 3438851865L },
    };

    private int firstParameter;
    private double first;
    private boolean haveFirst;

    /** Returns the expected checksum for n: the known one, else that of the first iteration. */
    private double expected(int n, double got) {
        for (double[] known : KNOWN) {
            if (known[0] == n) {
                return known[1];
            }
        }
        if (!haveFirst || firstParameter != n) {
            haveFirst = true;
            firstParameter = n;
            first = got;
        }
        return first;
    }

    /** Formats a number with 17 significant digits and no trailing zeros, like C's %.17g. */
    private static String digits(double x) {
        return new BigDecimal(x).round(new MathContext(17, RoundingMode.HALF_EVEN)).stripTrailingZeros().toPlainString();
    }

    @Override
    public void run_iter(int n) {
        double got = checksum(n);
        double want = expected(n, got);
        if (got != want) {
            System.out.println("fasta: parameter " + n + ": checksum " + digits(got) + ", expected " + digits(want));
            System.exit(1);
        }
    }
}
