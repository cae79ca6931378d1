/*
 * nbody - the motion of the Sun and the four giant planets in steps of 0.01
 * years, with distances in astronomical units, by a simple symplectic integrator.
 *
 * parameter  steps, 0 or more
 * checksum   the energy of the system afterwards
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
"use strict";

const PI = 3.141592653589793;
const SOLAR_MASS = 4 * PI * PI;
const YEAR = 365.24; // days: the velocities are given per day
const STEP = 0.01;

class Body {
  constructor(x, y, z, vx, vy, vz, mass) {
    this.x = x;
    this.y = y;
    this.z = z;
    this.vx = vx;
    this.vy = vy;
    this.vz = vz;
    this.mass = mass;
  }
}

/* start makes Sun, Jupiter, Saturn, Uranus and Neptune. */
function start() {
  return [
    new Body(0, 0, 0, 0, 0, 0, SOLAR_MASS),
    new Body(4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
      1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
      9.54791938424326609e-04 * SOLAR_MASS),
    new Body(8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
      -2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
      2.85885980666130812e-04 * SOLAR_MASS),
    new Body(1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
      2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
      4.36624404335156298e-05 * SOLAR_MASS),
    new Body(1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
      2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
      5.15138902046611451e-05 * SOLAR_MASS),
  ];
}

/* offset_momentum sets the Sun's velocity so that the total momentum is zero. */
function offset_momentum(bodies) {
  let px = 0, py = 0, pz = 0;

  for (const body of bodies) {
    px += body.vx * body.mass;
    py += body.vy * body.mass;
    pz += body.vz * body.mass;
  }
  bodies[0].vx = -px / SOLAR_MASS;
  bodies[0].vy = -py / SOLAR_MASS;
  bodies[0].vz = -pz / SOLAR_MASS;
}

/* attract changes the velocities of each body and each later one. */
function attract(bodies) {
  for (let i = 0; i < bodies.length; i++) {
    const a = bodies[i];
    for (let j = i + 1; j < bodies.length; j++) {
      const b = bodies[j];
      const dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
      const square = dx * dx + dy * dy + dz * dz;
      const force = STEP / (square * Math.sqrt(square));
      const ma = a.mass * force, mb = b.mass * force;
      a.vx -= dx * mb;
      a.vy -= dy * mb;
      a.vz -= dz * mb;
      b.vx += dx * ma;
      b.vy += dy * ma;
      b.vz += dz * ma;
    }
  }
}

function move(bodies) {
  for (let i = 0; i < bodies.length; i++) {
    const body = bodies[i];
    body.x += STEP * body.vx;
    body.y += STEP * body.vy;
    body.z += STEP * body.vz;
  }
}

function energy(bodies) {
  let e = 0;

  for (let i = 0; i < bodies.length; i++) {
    const a = bodies[i];
    e += 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz);
    for (let j = i + 1; j < bodies.length; j++) {
      const b = bodies[j];
      const dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
      e -= a.mass * b.mass / Math.sqrt(dx * dx + dy * dy + dz * dz);
    }
  }
  return e;
}

function checksum(n) {
  const bodies = start();

  offset_momentum(bodies);
  for (let i = 0; i < n; i++) {
    attract(bodies);
    move(bodies);
  }
  return energy(bodies);
}

// Known checksums; README.md lists their origin. Checksums of other parameters are
// those of their first iteration.
const EXPECTED = {
  1000: -0.16908760523462465,
  10000: -0.16901644126444898,
  200000: -0.16908371256965279,
};

/* digits formats a number like the other languages: 17 significant digits, no trailing zeros. */
function digits(x) {
  return x.toPrecision(17).replace(/\.?0*$/, "");
}

function run_iter(n) {
  const got = checksum(n);
  if (!(n in EXPECTED))
    EXPECTED[n] = got;
  if (got !== EXPECTED[n]) {
    print(`nbody: parameter ${n}: checksum ${digits(got)}, expected ${digits(EXPECTED[n])}`);
    quit(1);
  }
}
