import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * binary_trees - build many perfect binary trees, count their nodes, and discard
 * them, while a large one stays alive.
 *
 * <pre>
 * parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
 * checksum   the total number of nodes of all trees
 * </pre>
 *
 * Based on the description in the Computer Language Benchmarks Game.
 */
final class KrunEntry implements BaseKrunEntry {
    private static final int LEAST = 4;
    private static final int MOST = 24;

    static final class Node {
        final Node left;
        final Node right;

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }
    }

    private static Node make(int depth) {
        if (depth == 0) {
            return new Node(null, null);
        }
        return new Node(make(depth - 1), make(depth - 1));
    }

    private static int count(Node node) {
        if (node.left == null) {
            return 1;
        }
        return 1 + count(node.left) + count(node.right);
    }

    static double checksum(int n) {
        if (n > MOST) {
            System.out.println("binary_trees: parameter " + n + " is above " + MOST);
            System.exit(1);
        }
        int most = Math.max(n, LEAST + 2);
        long nodes = count(make(most + 1));
        Node large = make(most);
        for (int depth = LEAST; depth <= most; depth += 2) {
            for (int i = 1 << (most - depth + LEAST); i > 0; i--) {
                nodes += count(make(depth));
            }
        }
        return nodes + count(large);
    }

    /** Known checksums; README.md lists their origin. */
    private static final double[][] KNOWN = {
        { 10, 135854 },
        { 12, 674478 },
        { 14, 3222190 },
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
            System.out.println("binary_trees: parameter " + n + ": checksum " + digits(got) + ", expected " + digits(want));
            System.exit(1);
        }
    }
}
