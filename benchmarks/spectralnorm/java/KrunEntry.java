import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;

/**
 * spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
 * truncated to n by n, by the power method with ten rounds.
 *
 * <pre>
 * parameter  n, 1 to 10000
 * checksum   the norm
 * </pre>
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
final class KrunEntry implements BaseKrunEntry {
    private static final int MOST = 10000;

    /** Row i, column j: one over its index, counted along the diagonals. */
    private static double element(int i, int j) {
        return 1.0 / ((i + j) * (i + j + 1) / 2 + i + 1);
    }

    /** out = A in. */
    private static void times(double[] in, double[] out) {
        for (int i = 0; i < out.length; i++) {
            double sum = 0;
            for (int j = 0; j < in.length; j++) {
                sum += element(i, j) * in[j];
            }
            out[i] = sum;
        }
    }

    /** out = A' in. */
    private static void transposed(double[] in, double[] out) {
        for (int i = 0; i < out.length; i++) {
            double sum = 0;
            for (int j = 0; j < in.length; j++) {
                sum += element(j, i) * in[j];
            }
            out[i] = sum;
        }
    }

    static double checksum(int n) {
        if (n < 1 || n > MOST) {
            System.out.println("spectralnorm: parameter " + n + " is not within 1 to " + MOST);
            System.exit(1);
        }
        double[] u = new double[n];
        double[] v = new double[n];
        double[] w = new double[n];
        Arrays.fill(u, 1);
        for (int round = 0; round < 10; round++) {
            times(u, w);
            transposed(w, v);
            times(v, w);
            transposed(w, u);
        }
        double uv = 0;
        double vv = 0;
        for (int i = 0; i < n; i++) {
            uv += u[i] * v[i];
            vv += v[i] * v[i];
        }
        return Math.sqrt(uv / vv);
    }

    /** Known checksums; README.md lists their origin. */
    private static final double[][] KNOWN = {
        { 100, 1.2742199912349306 },
        { 500, 1.2742241159529055 },
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
            System.out.println("spectralnorm: parameter " + n + ": checksum " + digits(got) + ", expected " + digits(want));
            System.exit(1);
        }
    }
}
