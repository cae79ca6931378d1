--[[
fasta - write DNA sequences as lines of text: one by repeating a given piece, two
by choosing letters with a weighted random number.

parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
checksum   of the lines, from 0: 31 times the checksum so far plus the sum of the
           line's character codes, modulo 2 to the 32

Based on the description in the Computer Language Benchmarks Game. Nothing is
printed, and each iteration starts from the same random seed. For LuaJIT.
]]

local LINE, MOST = 60, 10000000

local ALU = "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG"
  .. "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA"
  .. "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT"
  .. "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA"
  .. "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG"
  .. "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC"
  .. "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA"

-- Letters with their shares.
local IUB = {
  { "a", 0.27 }, { "c", 0.12 }, { "g", 0.12 }, { "t", 0.27 }, { "B", 0.02 },
  { "D", 0.02 }, { "H", 0.02 }, { "K", 0.02 }, { "M", 0.02 }, { "N", 0.02 },
  { "R", 0.02 }, { "S", 0.02 }, { "V", 0.02 }, { "W", 0.02 }, { "Y", 0.02 },
}
local HOMO_SAPIENS = {
  { "a", 0.3029549426680 }, { "c", 0.1979883004921 }, { "g", 0.1975473066391 }, { "t", 0.3015094502008 },
}

-- write replaces printing. writer is the state of one iteration: the
-- checksum so far and the random seed.
local function write(writer, line)
  local codes = 0
  for i = 1, #line do
    codes = codes + line:byte(i)
  end
  writer.sum = (writer.sum * 31 + codes) % 4294967296
end

-- duplicate writes a piece repeatedly.
local function duplicate(writer, piece, letters)
  local endless = piece .. piece:sub(1, LINE)
  local at = 0
  while letters > 0 do
    local length = math.min(letters, LINE)
    write(writer, endless:sub(at + 1, at + length))
    at = (at + length) % #piece
    letters = letters - length
  end
end

-- random_share is in [0, 1): a linear congruential generator of small numbers,
-- the same everywhere.
local function random_share(writer)
  writer.seed = (writer.seed * 3877 + 29573) % 139968
  return writer.seed / 139968
end

-- choose returns the first letter whose cumulative share exceeds a random number.
local function choose(writer, names, below)
  local r = random_share(writer)
  local i = 1
  while i < #names and r >= below[i] do
    i = i + 1
  end
  return names[i]
end

local function random_letters(writer, shares, letters)
  local names, below, total, line = {}, {}, 0, {}
  for i, share in ipairs(shares) do
    total = total + share[2]
    names[i] = share[1]
    below[i] = total
  end
  while letters > 0 do
    local length = math.min(letters, LINE)
    for i = 1, length do
      line[i] = choose(writer, names, below)
    end
    write(writer, table.concat(line, "", 1, length))
    letters = letters - length
  end
end

function checksum(n)
  if n < 0 or n > MOST then
    print(("fasta: parameter %d is not within 0 to %d"):format(n, MOST))
    os.exit(1)
  end
  local writer = { sum = 0, seed = 42 }
  write(writer, ">ONE Homo sapiens alu")
  duplicate(writer, ALU, 2 * n)
  write(writer, ">TWO IUB ambiguity codes")
  random_letters(writer, IUB, 3 * n)
  write(writer, ">THREE Homo sapiens frequency")
  random_letters(writer, HOMO_SAPIENS, 5 * n)
  return writer.sum
end

-- Known checksums; README.md lists their origin. Checksums of other parameters are
-- those of their first iteration.
local expected = {
  [1000] = 3225012143,
  [30000] = 4059268609,
  [100000] = 3438851865,
}

function run_iter(n)
  local got = checksum(n)
  local want = expected[n]
  if not want then
    expected[n] = got
    want = got
  end
  if got ~= want then
    print(("fasta: parameter %d: checksum %.17g, expected %.17g"):format(n, got, want))
    os.exit(1)
  end
end
