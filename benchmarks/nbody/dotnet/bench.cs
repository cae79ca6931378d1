using System;
using System.Collections.Generic;
using System.Globalization;

/// <summary>
/// nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
/// with distances in astronomical units, by a simple symplectic integrator.
///
///   parameter  steps, 0 or more
///   checksum   the energy of the system afterwards
///
/// Based on the description in the Computer Language Benchmarks Game. Every language
/// does the same operations in the same order, so the last bit agrees.
/// </summary>
public static class NBody {
    const double SolarMass = 4 * 3.141592653589793 * 3.141592653589793;
    const double Year = 365.24; // days: the velocities are given per day
    const double Step = 0.01;

    sealed class Body {
        public double X, Y, Z, VX, VY, VZ, Mass;

        public Body(double x, double y, double z, double vx, double vy, double vz, double mass) {
            X = x;
            Y = y;
            Z = z;
            VX = vx * Year;
            VY = vy * Year;
            VZ = vz * Year;
            Mass = mass * SolarMass;
        }
    }

    static Body[] Start() {
        return new[] {
            new Body(0, 0, 0, 0, 0, 0, 1), // Sun
            new Body( // Jupiter
                4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
                1.66007664274403694e-03, 7.69901118419740425e-03, -6.90460016972063023e-05,
                9.54791938424326609e-04),
            new Body( // Saturn
                8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
                -2.76742510726411115e-03, 4.99852801234917238e-03, 2.30417297573763929e-05,
                2.85885980666130812e-04),
            new Body( // Uranus
                1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
                2.96460137564761618e-03, 2.37847173959480950e-03, -2.96589568540237556e-05,
                4.36624404335156298e-05),
            new Body( // Neptune
                1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
                2.68067772490389322e-03, 1.62824170038242295e-03, -9.51592254519715870e-05,
                5.15138902046611451e-05),
        };
    }

    /// <summary>Sets the Sun's velocity so that the total momentum is zero.</summary>
    static void OffsetMomentum(Body[] bodies) {
        double px = 0, py = 0, pz = 0;
        foreach (Body b in bodies) {
            px += b.VX * b.Mass;
            py += b.VY * b.Mass;
            pz += b.VZ * b.Mass;
        }
        bodies[0].VX = -px / SolarMass;
        bodies[0].VY = -py / SolarMass;
        bodies[0].VZ = -pz / SolarMass;
    }

    static void Advance(Body[] bodies) {
        for (int i = 0; i < bodies.Length; i++) {
            Body a = bodies[i];
            for (int j = i + 1; j < bodies.Length; j++) {
                Body b = bodies[j];
                double dx = a.X - b.X;
                double dy = a.Y - b.Y;
                double dz = a.Z - b.Z;
                double square = dx * dx + dy * dy + dz * dz;
                double force = Step / (square * Math.Sqrt(square));
                double ma = a.Mass * force;
                double mb = b.Mass * force;
                a.VX -= dx * mb;
                a.VY -= dy * mb;
                a.VZ -= dz * mb;
                b.VX += dx * ma;
                b.VY += dy * ma;
                b.VZ += dz * ma;
            }
        }
        foreach (Body b in bodies) {
            b.X += Step * b.VX;
            b.Y += Step * b.VY;
            b.Z += Step * b.VZ;
        }
    }

    static double Energy(Body[] bodies) {
        double e = 0;
        for (int i = 0; i < bodies.Length; i++) {
            Body a = bodies[i];
            e += 0.5 * a.Mass * (a.VX * a.VX + a.VY * a.VY + a.VZ * a.VZ);
            for (int j = i + 1; j < bodies.Length; j++) {
                Body b = bodies[j];
                double dx = a.X - b.X;
                double dy = a.Y - b.Y;
                double dz = a.Z - b.Z;
                e -= a.Mass * b.Mass / Math.Sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
        return e;
    }

    public static double Checksum(int n) {
        Body[] bodies = Start();
        OffsetMomentum(bodies);
        for (int i = 0; i < n; i++) {
            Advance(bodies);
        }
        return Energy(bodies);
    }

    /// <summary>Known checksums; README.md lists their origin.</summary>
    static readonly Dictionary<int, double> known = new Dictionary<int, double> {
        { 1000, -0.16908760523462465 },
        { 10000, -0.16901644126444898 },
        { 200000, -0.16908371256965279 },
    };

    /// <summary>Checksums of the first iteration.</summary>
    static readonly Dictionary<int, double> first = new Dictionary<int, double>();

    /// <summary>Returns the expected checksum for n: the known one, else that of the first iteration.</summary>
    static double Expected(int n, double got) {
        double sum;
        if (known.TryGetValue(n, out sum)) {
            return sum;
        }
        if (!first.ContainsKey(n)) {
            first[n] = got;
        }
        return first[n];
    }

    static void Refuse(string text) {
        Console.WriteLine("nbody: " + text);
        Environment.Exit(1);
    }

    static string Digits(double x) {
        return x.ToString("G17", CultureInfo.InvariantCulture);
    }

    public static void run_iter(int n) {
        double got = Checksum(n);
        double want = Expected(n, got);
        if (got != want) {
            Refuse("parameter " + n + ": checksum " + Digits(got) + ", expected " + Digits(want));
        }
    }
}
