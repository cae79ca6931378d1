import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
 * with distances in astronomical units, by a simple symplectic integrator.
 *
 * <pre>
 * parameter  steps, 0 or more
 * checksum   the energy of the system afterwards
 * </pre>
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
final class KrunEntry implements BaseKrunEntry {
    private static final double PI = 3.141592653589793;
    private static final double SOLAR_MASS = 4 * PI * PI;
    private static final double YEAR = 365.24; // days: the velocities are given per day
    private static final double STEP = 0.01;

    static final class Body {
        double x, y, z, vx, vy, vz;
        final double mass;

        Body(double x, double y, double z, double vx, double vy, double vz, double mass) {
            this.x = x;
            this.y = y;
            this.z = z;
            this.vx = vx;
            this.vy = vy;
            this.vz = vz;
            this.mass = mass;
        }
    }

    /** The bodies: Sun, Jupiter, Saturn, Uranus, Neptune. */
    private static Body[] start() {
        return new Body[] {
            new Body(0, 0, 0, 0, 0, 0, SOLAR_MASS),
            new Body(
                4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
                1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
                9.54791938424326609e-04 * SOLAR_MASS),
            new Body(
                8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
                -2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
                2.85885980666130812e-04 * SOLAR_MASS),
            new Body(
                1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
                2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
                4.36624404335156298e-05 * SOLAR_MASS),
            new Body(
                1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
                2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
                5.15138902046611451e-05 * SOLAR_MASS),
        };
    }

    /** Set the Sun's velocity so that the total momentum is zero. */
    private static void offsetMomentum(Body[] bodies) {
        double px = 0;
        double py = 0;
        double pz = 0;
        for (Body b : bodies) {
            px += b.vx * b.mass;
            py += b.vy * b.mass;
            pz += b.vz * b.mass;
        }
        Body sun = bodies[0];
        sun.vx = -px / SOLAR_MASS;
        sun.vy = -py / SOLAR_MASS;
        sun.vz = -pz / SOLAR_MASS;
    }

    private static void advance(Body[] bodies) {
        for (int i = 0; i < bodies.length; i++) {
            Body a = bodies[i];
            for (int j = i + 1; j < bodies.length; j++) {
                Body b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                double square = dx * dx + dy * dy + dz * dz;
                double force = STEP / (square * Math.sqrt(square));
                double ma = a.mass * force;
                double mb = b.mass * force;
                a.vx -= dx * mb;
                a.vy -= dy * mb;
                a.vz -= dz * mb;
                b.vx += dx * ma;
                b.vy += dy * ma;
                b.vz += dz * ma;
            }
        }
        for (Body b : bodies) {
            b.x += STEP * b.vx;
            b.y += STEP * b.vy;
            b.z += STEP * b.vz;
        }
    }

    private static double energy(Body[] bodies) {
        double e = 0;
        for (int i = 0; i < bodies.length; i++) {
            Body a = bodies[i];
            e += 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz);
            for (int j = i + 1; j < bodies.length; j++) {
                Body b = bodies[j];
                double dx = a.x - b.x;
                double dy = a.y - b.y;
                double dz = a.z - b.z;
                e -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
        return e;
    }

    static double checksum(int n) {
        Body[] bodies = start();
        offsetMomentum(bodies);
        for (int i = 0; i < n; i++) {
            advance(bodies);
        }
        return energy(bodies);
    }

    /** Known checksums; README.md lists their origin. */
    private static final double[][] KNOWN = {
        { 1000, -0.16908760523462465 },
        { 10000, -0.16901644126444898 },
        { 200000, -0.16908371256965279 },
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
            System.out.println("nbody: parameter " + n + ": checksum " + digits(got) + ", expected " + digits(want));
            System.exit(1);
        }
    }
}
