<?php
/*
 * nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
 * with distances in astronomical units, by a simple symplectic integrator.
 *
 * parameter  steps, 0 or more
 * checksum   the energy of the system afterwards
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees. For PHP 7.4
 * and later.
 */

const PI = 3.141592653589793;
const SOLAR_MASS = 4 * PI * PI;
const YEAR = 365.24; // days: the velocities are given per day
const STEP = 0.01;

final class Body
{
    public float $x;
    public float $y;
    public float $z;
    public float $vx;
    public float $vy;
    public float $vz;
    public float $mass;

    public function __construct(float $x, float $y, float $z, float $vx, float $vy, float $vz, float $mass)
    {
        $this->x = $x;
        $this->y = $y;
        $this->z = $z;
        $this->vx = $vx;
        $this->vy = $vy;
        $this->vz = $vz;
        $this->mass = $mass;
    }
}

/* Sun, Jupiter, Saturn, Uranus and Neptune. */
function start(): array
{
    return [
        new Body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS),
        new Body(
            4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
            1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
            9.54791938424326609e-04 * SOLAR_MASS
        ),
        new Body(
            8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
            -2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
            2.85885980666130812e-04 * SOLAR_MASS
        ),
        new Body(
            1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
            2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
            4.36624404335156298e-05 * SOLAR_MASS
        ),
        new Body(
            1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
            2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
            5.15138902046611451e-05 * SOLAR_MASS
        ),
    ];
}

/* Set the Sun's velocity so that the total momentum is zero. */
function offset_momentum(array $bodies): void
{
    $px = $py = $pz = 0.0;
    foreach ($bodies as $b) {
        $px += $b->vx * $b->mass;
        $py += $b->vy * $b->mass;
        $pz += $b->vz * $b->mass;
    }
    $sun = $bodies[0];
    $sun->vx = -$px / SOLAR_MASS;
    $sun->vy = -$py / SOLAR_MASS;
    $sun->vz = -$pz / SOLAR_MASS;
}

function advance(array $bodies, int $count): void
{
    for ($i = 0; $i < $count; $i++) {
        $a = $bodies[$i];
        for ($j = $i + 1; $j < $count; $j++) {
            $b = $bodies[$j];
            $dx = $a->x - $b->x;
            $dy = $a->y - $b->y;
            $dz = $a->z - $b->z;
            $square = $dx * $dx + $dy * $dy + $dz * $dz;
            $force = STEP / ($square * sqrt($square));
            $ma = $a->mass * $force;
            $mb = $b->mass * $force;
            $a->vx -= $dx * $mb;
            $a->vy -= $dy * $mb;
            $a->vz -= $dz * $mb;
            $b->vx += $dx * $ma;
            $b->vy += $dy * $ma;
            $b->vz += $dz * $ma;
        }
    }
    foreach ($bodies as $b) {
        $b->x += STEP * $b->vx;
        $b->y += STEP * $b->vy;
        $b->z += STEP * $b->vz;
    }
}

function energy(array $bodies): float
{
    $e = 0.0;
    $count = count($bodies);
    foreach ($bodies as $i => $a) {
        $e += 0.5 * $a->mass * ($a->vx * $a->vx + $a->vy * $a->vy + $a->vz * $a->vz);
        for ($j = $i + 1; $j < $count; $j++) {
            $b = $bodies[$j];
            $dx = $a->x - $b->x;
            $dy = $a->y - $b->y;
            $dz = $a->z - $b->z;
            $e -= $a->mass * $b->mass / sqrt($dx * $dx + $dy * $dy + $dz * $dz);
        }
    }
    return $e;
}

function checksum($n)
{
    $bodies = start();
    offset_momentum($bodies);
    for ($i = 0; $i < $n; $i++) {
        advance($bodies, count($bodies));
    }
    return energy($bodies);
}

/* Returns the expected checksum for n. Known ones are in the table; README.md lists
 * their origin. Checksums of other parameters are those of their first iteration. */
function expected($n, $got)
{
    static $known = [
        1000 => -0.16908760523462465,
        10000 => -0.16901644126444898,
        200000 => -0.16908371256965279,
    ];
    return $known[$n] ??= $got;
}

function run_iter($n)
{
    $got = checksum($n);
    $want = expected($n, $got);
    if ($got != $want) {
        printf("nbody: parameter %d: checksum %.17g, expected %.17g\n", $n, $got, $want);
        exit(1);
    }
}
