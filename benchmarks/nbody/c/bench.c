/*
 * nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
 * with distances in astronomical units, by a simple symplectic integrator.
 *
 * parameter  steps, 0 or more
 * checksum   the energy of the system afterwards
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 5 };

struct body {
	double x, y, z, vx, vy, vz, mass;
};

#define PI 3.141592653589793
#define SOLAR_MASS (4 * PI * PI)
#define YEAR 365.24 /* days: the velocities are given per day */
#define STEP 0.01

static const struct body start[BODIES] = {
	{ 0, 0, 0, 0, 0, 0, SOLAR_MASS }, /* Sun */
	{ /* Jupiter */
		4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
		1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
		9.54791938424326609e-04 * SOLAR_MASS },
	{ /* Saturn */
		8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
		-2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
		2.85885980666130812e-04 * SOLAR_MASS },
	{ /* Uranus */
		1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
		2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
		4.36624404335156298e-05 * SOLAR_MASS },
	{ /* Neptune */
		1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
		2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
		5.15138902046611451e-05 * SOLAR_MASS },
};

/* offset_momentum sets the Sun's velocity so that the total momentum is zero. */
static void offset_momentum(struct body *b)
{
	double px = 0, py = 0, pz = 0;

	for (int i = 0; i < BODIES; i++) {
		px += b[i].vx * b[i].mass;
		py += b[i].vy * b[i].mass;
		pz += b[i].vz * b[i].mass;
	}
	b[0].vx = -px / SOLAR_MASS;
	b[0].vy = -py / SOLAR_MASS;
	b[0].vz = -pz / SOLAR_MASS;
}

static void advance(struct body *b)
{
	for (int i = 0; i < BODIES; i++) {
		for (int j = i + 1; j < BODIES; j++) {
			double dx = b[i].x - b[j].x;
			double dy = b[i].y - b[j].y;
			double dz = b[i].z - b[j].z;
			double square = dx * dx + dy * dy + dz * dz;
			double force = STEP / (square * sqrt(square));
			double mi = b[i].mass * force;
			double mj = b[j].mass * force;

			b[i].vx -= dx * mj;
			b[i].vy -= dy * mj;
			b[i].vz -= dz * mj;
			b[j].vx += dx * mi;
			b[j].vy += dy * mi;
			b[j].vz += dz * mi;
		}
	}
	for (int i = 0; i < BODIES; i++) {
		b[i].x += STEP * b[i].vx;
		b[i].y += STEP * b[i].vy;
		b[i].z += STEP * b[i].vz;
	}
}

static double energy(const struct body *b)
{
	double e = 0;

	for (int i = 0; i < BODIES; i++) {
		e += 0.5 * b[i].mass * (b[i].vx * b[i].vx + b[i].vy * b[i].vy + b[i].vz * b[i].vz);
		for (int j = i + 1; j < BODIES; j++) {
			double dx = b[i].x - b[j].x;
			double dy = b[i].y - b[j].y;
			double dz = b[i].z - b[j].z;

			e -= b[i].mass * b[j].mass / sqrt(dx * dx + dy * dy + dz * dz);
		}
	}
	return e;
}

double checksum(int n)
{
	struct body b[BODIES];

	for (int i = 0; i < BODIES; i++)
		b[i] = start[i];
	offset_momentum(b);
	for (int i = 0; i < n; i++)
		advance(b);
	return energy(b);
}

/* Known checksums; README.md lists their origin. */
static const struct { int n; double sum; } known[] = {
	{ 1000, -0.16908760523462465 },
	{ 10000, -0.16901644126444898 },
	{ 200000, -0.16908371256965279 },
};

/* expected returns the checksum for n: the known one, else that of the first iteration. */
static double expected(int n, double got)
{
	static int have, first_n;
	static double first;

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (known[i].n == n)
			return known[i].sum;
	if (!have || first_n != n) {
		have = 1;
		first_n = n;
		first = got;
	}
	return first;
}

void run_iter(int n)
{
	double got = checksum(n), want = expected(n, got);

	if (got == want)
		return;
	printf("nbody: parameter %d: checksum %.17g, expected %.17g\n", n, got, want);
	exit(1);
}
