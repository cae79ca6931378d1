"""nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
with distances in astronomical units, by a simple symplectic integrator.

parameter  steps, 0 or more
checksum   the energy of the system afterwards

Based on the description in the Computer Language Benchmarks Game. Every language
does the same operations in the same order, so the last bit agrees. For Python
2.7 and 3.
"""

import sys
from math import sqrt

try:
    range = xrange
except NameError:
    pass

PI = 3.141592653589793
SOLAR_MASS = 4 * PI * PI
YEAR = 365.24  # days: the velocities are given per day
STEP = 0.01


def start():
    """The bodies: [x, y, z, vx, vy, vz, mass] of Sun, Jupiter, Saturn, Uranus, Neptune."""
    return [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS],
        [4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
         1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
         9.54791938424326609e-04 * SOLAR_MASS],
        [8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
         -2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
         2.85885980666130812e-04 * SOLAR_MASS],
        [1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
         2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
         4.36624404335156298e-05 * SOLAR_MASS],
        [1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
         2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
         5.15138902046611451e-05 * SOLAR_MASS],
    ]


def offset_momentum(bodies):
    """Set the Sun's velocity so that the total momentum is zero."""
    px = py = pz = 0.0
    for _, _, _, vx, vy, vz, mass in bodies:
        px += vx * mass
        py += vy * mass
        pz += vz * mass
    sun = bodies[0]
    sun[3] = -px / SOLAR_MASS
    sun[4] = -py / SOLAR_MASS
    sun[5] = -pz / SOLAR_MASS


def all_pairs(bodies):
    """Each body with each later one."""
    return [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1:]]


def advance(bodies, pairs, steps):
    for _ in range(steps):
        for a, b in pairs:
            dx = a[0] - b[0]
            dy = a[1] - b[1]
            dz = a[2] - b[2]
            square = dx * dx + dy * dy + dz * dz
            force = STEP / (square * sqrt(square))
            ma = a[6] * force
            mb = b[6] * force
            a[3] -= dx * mb
            a[4] -= dy * mb
            a[5] -= dz * mb
            b[3] += dx * ma
            b[4] += dy * ma
            b[5] += dz * ma
        for body in bodies:
            body[0] += STEP * body[3]
            body[1] += STEP * body[4]
            body[2] += STEP * body[5]


def energy(bodies):
    e = 0.0
    for i, (x, y, z, vx, vy, vz, mass) in enumerate(bodies):
        e += 0.5 * mass * (vx * vx + vy * vy + vz * vz)
        for other in bodies[i + 1:]:
            dx = x - other[0]
            dy = y - other[1]
            dz = z - other[2]
            e -= mass * other[6] / sqrt(dx * dx + dy * dy + dz * dz)
    return e


def checksum(n):
    bodies = start()
    offset_momentum(bodies)
    advance(bodies, all_pairs(bodies), n)
    return energy(bodies)


# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
    1000: -0.16908760523462465,
    10000: -0.16901644126444898,
    200000: -0.16908371256965279,
}


def run_iter(n):
    got = checksum(n)
    want = EXPECTED.setdefault(n, got)
    if got != want:
        print("nbody: parameter %d: checksum %.17g, expected %.17g" % (n, got, want))
        sys.exit(1)
