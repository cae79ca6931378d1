# nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
# with distances in astronomical units, by a simple symplectic integrator.
#
# parameter  steps, 0 or more
# checksum   the energy of the system afterwards
#
# Based on the description in the Computer Language Benchmarks Game. Every language
# does the same operations in the same order, so the last bit agrees. For Ruby 2.7
# and later.

PI = 3.141592653589793
SOLAR_MASS = 4 * PI * PI
YEAR = 365.24 # days: the velocities are given per day
STEP = 0.01

class Body
  attr_accessor :x, :y, :z, :vx, :vy, :vz
  attr_reader :mass

  def initialize(x, y, z, vx, vy, vz, mass)
    @x = x
    @y = y
    @z = z
    @vx = vx
    @vy = vy
    @vz = vz
    @mass = mass
  end
end

# Sun, Jupiter, Saturn, Uranus, Neptune.
def start
  [
    Body.new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS),
    Body.new(4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
             1.66007664274403694e-03 * YEAR, 7.69901118419740425e-03 * YEAR, -6.90460016972063023e-05 * YEAR,
             9.54791938424326609e-04 * SOLAR_MASS),
    Body.new(8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
             -2.76742510726411115e-03 * YEAR, 4.99852801234917238e-03 * YEAR, 2.30417297573763929e-05 * YEAR,
             2.85885980666130812e-04 * SOLAR_MASS),
    Body.new(1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
             2.96460137564761618e-03 * YEAR, 2.37847173959480950e-03 * YEAR, -2.96589568540237556e-05 * YEAR,
             4.36624404335156298e-05 * SOLAR_MASS),
    Body.new(1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
             2.68067772490389322e-03 * YEAR, 1.62824170038242295e-03 * YEAR, -9.51592254519715870e-05 * YEAR,
             5.15138902046611451e-05 * SOLAR_MASS),
  ]
end

# Sets the Sun's velocity so that the total momentum is zero.
def offset_momentum(bodies)
  px = py = pz = 0.0
  bodies.each do |b|
    px += b.vx * b.mass
    py += b.vy * b.mass
    pz += b.vz * b.mass
  end
  sun = bodies[0]
  sun.vx = -px / SOLAR_MASS
  sun.vy = -py / SOLAR_MASS
  sun.vz = -pz / SOLAR_MASS
end

def attract(a, b)
  dx = a.x - b.x
  dy = a.y - b.y
  dz = a.z - b.z
  square = dx * dx + dy * dy + dz * dz
  force = STEP / (square * Math.sqrt(square))
  ma = a.mass * force
  mb = b.mass * force
  a.vx -= dx * mb
  a.vy -= dy * mb
  a.vz -= dz * mb
  b.vx += dx * ma
  b.vy += dy * ma
  b.vz += dz * ma
end

def move(body)
  body.x += STEP * body.vx
  body.y += STEP * body.vy
  body.z += STEP * body.vz
end

def advance(bodies, pairs)
  pairs.each { |a, b| attract(a, b) }
  bodies.each { |body| move(body) }
end

def energy(bodies)
  e = 0.0
  bodies.each_with_index do |b, i|
    e += 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
    bodies.drop(i + 1).each do |other|
      dx = b.x - other.x
      dy = b.y - other.y
      dz = b.z - other.z
      e -= b.mass * other.mass / Math.sqrt(dx * dx + dy * dy + dz * dz)
    end
  end
  e
end

def checksum(n)
  bodies = start
  pairs = bodies.combination(2).to_a # each with each later one
  offset_momentum(bodies)
  n.times { advance(bodies, pairs) }
  energy(bodies)
end

# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
  1000 => -0.16908760523462465,
  10000 => -0.16901644126444898,
  200000 => -0.16908371256965279,
}

def run_iter(n)
  got = checksum(n)
  want = EXPECTED[n] ||= got
  return if got == want

  puts format("nbody: parameter %d: checksum %.17g, expected %.17g", n, got, want)
  exit 1
end
