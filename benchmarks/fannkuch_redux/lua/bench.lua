--[[
fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1
elements, k being the first, until that is 0, and count the reversals.

parameter  n, 1 to 12
checksum   1000 times the sum of the counts with alternating sign, plus the
           largest count

Based on the description in the Computer Language Benchmarks Game; its order of the
permutations decides the signs. For LuaJIT.
]]

local MOST = 12

-- flips counts the reversals of a permutation without modifying it; p is for the copy.
local function flips(permutation, p, n)
  for i = 1, n do
    p[i] = permutation[i]
  end
  local count = 0
  local k = p[1]
  while k ~= 0 do
    local i, j = 1, k + 1
    while i < j do
      p[i], p[j] = p[j], p[i]
      i = i + 1
      j = j - 1
    end
    count = count + 1
    k = p[1]
  end
  return count
end

-- advance makes the next permutation and returns false after the last one. The
-- first r elements rotate to the left, r starting at 2 and growing each time that
-- r's turns are used up.
local function advance(permutation, turns, n)
  for r = 2, n do
    local first = permutation[1]
    for i = 1, r - 1 do
      permutation[i] = permutation[i + 1]
    end
    permutation[r] = first
    turns[r] = turns[r] - 1
    if turns[r] > 0 then
      return true
    end
    turns[r] = r
  end
  return false
end

function checksum(n)
  if n < 1 or n > MOST then
    print(("fannkuch_redux: parameter %d is not within 1 to %d"):format(n, MOST))
    os.exit(1)
  end
  local permutation, turns, p = {}, {}, {}
  for i = 1, n do
    permutation[i] = i - 1
    turns[i] = i
  end
  local sum, most, sign = 0, 0, 1
  repeat
    local count = flips(permutation, p, n)
    sum = sum + sign * count
    sign = -sign
    if count > most then
      most = count
    end
  until not advance(permutation, turns, n)
  return sum * 1000 + most
end

-- Known checksums; README.md lists their origin. Checksums of other parameters are
-- those of their first iteration.
local expected = {
  [7] = 228016,
  [8] = 1616022,
  [9] = 8629030,
  [10] = 73196038,
}

function run_iter(n)
  local got = checksum(n)
  local want = expected[n]
  if not want then
    expected[n] = got
    want = got
  end
  if got ~= want then
    print(("fannkuch_redux: parameter %d: checksum %.17g, expected %.17g"):format(n, got, want))
    os.exit(1)
  end
end
