--[[
nbody - the motion of the Sun and the four giant planets in steps of 0.01 years,
with distances in astronomical units, by a simple symplectic integrator.

parameter  steps, 0 or more
checksum   the energy of the system afterwards

Based on the description in the Computer Language Benchmarks Game. Every language
does the same operations in the same order, so the last bit agrees. For LuaJIT.
]]

local sqrt = math.sqrt

local PI = 3.141592653589793
local SOLAR_MASS = 4 * PI * PI
local YEAR = 365.24 -- days: the velocities are given per day
local STEP = 0.01

-- start returns Sun, Jupiter, Saturn, Uranus and Neptune.
local function start()
  return {
    { x = 0, y = 0, z = 0, vx = 0, vy = 0, vz = 0, mass = SOLAR_MASS },
    {
      x = 4.84143144246472090e+00, y = -1.16032004402742839e+00, z = -1.03622044471123109e-01,
      vx = 1.66007664274403694e-03 * YEAR, vy = 7.69901118419740425e-03 * YEAR, vz = -6.90460016972063023e-05 * YEAR,
      mass = 9.54791938424326609e-04 * SOLAR_MASS,
    },
    {
      x = 8.34336671824457987e+00, y = 4.12479856412430479e+00, z = -4.03523417114321381e-01,
      vx = -2.76742510726411115e-03 * YEAR, vy = 4.99852801234917238e-03 * YEAR, vz = 2.30417297573763929e-05 * YEAR,
      mass = 2.85885980666130812e-04 * SOLAR_MASS,
    },
    {
      x = 1.28943695621391310e+01, y = -1.51111514016986312e+01, z = -2.23307578892655734e-01,
      vx = 2.96460137564761618e-03 * YEAR, vy = 2.37847173959480950e-03 * YEAR, vz = -2.96589568540237556e-05 * YEAR,
      mass = 4.36624404335156298e-05 * SOLAR_MASS,
    },
    {
      x = 1.53796971148509165e+01, y = -2.59193146099879641e+01, z = 1.79258772950371181e-01,
      vx = 2.68067772490389322e-03 * YEAR, vy = 1.62824170038242295e-03 * YEAR, vz = -9.51592254519715870e-05 * YEAR,
      mass = 5.15138902046611451e-05 * SOLAR_MASS,
    },
  }
end

-- offset_momentum sets the Sun's velocity so that the total momentum is zero.
local function offset_momentum(bodies)
  local px, py, pz = 0, 0, 0
  for _, b in ipairs(bodies) do
    px = px + b.vx * b.mass
    py = py + b.vy * b.mass
    pz = pz + b.vz * b.mass
  end
  local sun = bodies[1]
  sun.vx = -px / SOLAR_MASS
  sun.vy = -py / SOLAR_MASS
  sun.vz = -pz / SOLAR_MASS
end

local function advance(bodies, count)
  for i = 1, count do
    local a = bodies[i]
    for j = i + 1, count do
      local b = bodies[j]
      local dx = a.x - b.x
      local dy = a.y - b.y
      local dz = a.z - b.z
      local square = dx * dx + dy * dy + dz * dz
      local force = STEP / (square * sqrt(square))
      local ma = a.mass * force
      local mb = b.mass * force
      a.vx = a.vx - dx * mb
      a.vy = a.vy - dy * mb
      a.vz = a.vz - dz * mb
      b.vx = b.vx + dx * ma
      b.vy = b.vy + dy * ma
      b.vz = b.vz + dz * ma
    end
  end
  for i = 1, count do
    local b = bodies[i]
    b.x = b.x + STEP * b.vx
    b.y = b.y + STEP * b.vy
    b.z = b.z + STEP * b.vz
  end
end

local function energy(bodies, count)
  local e = 0
  for i = 1, count do
    local a = bodies[i]
    e = e + 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz)
    for j = i + 1, count do
      local b = bodies[j]
      local dx = a.x - b.x
      local dy = a.y - b.y
      local dz = a.z - b.z
      e = e - a.mass * b.mass / sqrt(dx * dx + dy * dy + dz * dz)
    end
  end
  return e
end

function checksum(n)
  local bodies = start()
  offset_momentum(bodies)
  for _ = 1, n do
    advance(bodies, #bodies)
  end
  return energy(bodies, #bodies)
end

-- Known checksums; README.md lists their origin. Checksums of other parameters are
-- those of their first iteration.
local expected = {
  [1000] = -0.16908760523462465,
  [10000] = -0.16901644126444898,
  [200000] = -0.16908371256965279,
}

function run_iter(n)
  local got = checksum(n)
  local want = expected[n]
  if not want then
    expected[n] = got
    want = got
  end
  if got ~= want then
    print(("nbody: parameter %d: checksum %.17g, expected %.17g"):format(n, got, want))
    os.exit(1)
  end
end
