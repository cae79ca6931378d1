--[[
spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ..., truncated
to n by n, by the power method with ten rounds.

parameter  n, 1 to 10000
checksum   the norm

Based on the description in the Computer Language Benchmarks Game. Every language
does the same operations in the same order, so the last bit agrees. For LuaJIT.
]]

local MOST = 10000

-- element returns the element in row i and column j, from 0: one over its index,
-- counted along the diagonals.
local function element(i, j)
  return 1 / ((i + j) * (i + j + 1) / 2 + i + 1)
end

-- times computes out = A vector.
local function times(vector, out, n)
  for i = 1, n do
    local sum = 0
    for j = 1, n do
      sum = sum + element(i - 1, j - 1) * vector[j]
    end
    out[i] = sum
  end
end

-- transposed computes out = A' vector.
local function transposed(vector, out, n)
  for i = 1, n do
    local sum = 0
    for j = 1, n do
      sum = sum + element(j - 1, i - 1) * vector[j]
    end
    out[i] = sum
  end
end

function checksum(n)
  if n < 1 or n > MOST then
    print(("spectralnorm: parameter %d is not within 1 to %d"):format(n, MOST))
    os.exit(1)
  end
  local u, v, w = {}, {}, {}
  for i = 1, n do
    u[i] = 1
  end
  for _ = 1, 10 do
    times(u, w, n)
    transposed(w, v, n)
    times(v, w, n)
    transposed(w, u, n)
  end
  local uv, vv = 0, 0
  for i = 1, n do
    uv = uv + u[i] * v[i]
    vv = vv + v[i] * v[i]
  end
  return math.sqrt(uv / vv)
end

-- Known checksums; README.md lists their origin. Checksums of other parameters are
-- those of their first iteration.
local expected = {
  [100] = 1.2742199912349306,
  [500] = 1.2742241159529055,
}

function run_iter(n)
  local got = checksum(n)
  local want = expected[n]
  if not want then
    expected[n] = got
    want = got
  end
  if got ~= want then
    print(("spectralnorm: parameter %d: checksum %.17g, expected %.17g"):format(n, got, want))
    os.exit(1)
  end
end
