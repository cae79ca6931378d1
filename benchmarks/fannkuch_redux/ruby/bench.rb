# fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1
# elements, k being the first, until that is 0, and count the reversals.
#
# parameter  n, 1 to 12
# checksum   1000 times the sum of the counts with alternating sign, plus the
#            largest count
#
# Based on the description in the Computer Language Benchmarks Game; its order of
# the permutations decides the signs. For Ruby 2.7 and later.

MOST = 12

# Counts the reversals of a permutation without modifying it.
def flips(permutation)
  p = permutation.dup
  count = 0
  while (k = p[0]) != 0
    i = 0
    j = k
    while i < j
      p[i], p[j] = p[j], p[i]
      i += 1
      j -= 1
    end
    count += 1
  end
  count
end

# Makes the next permutation; false after the last one. The first r+1 elements
# rotate to the left, r starting at 1 and growing each time that r's turns are
# used up.
def advance(permutation, turns, n)
  r = 1
  while r < n
    permutation.insert(r, permutation.shift)
    turns[r] -= 1
    return true if turns[r] > 0

    turns[r] = r + 1
    r += 1
  end
  false
end

def checksum(n)
  unless n.between?(1, MOST)
    puts "fannkuch_redux: parameter #{n} is not within 1 to #{MOST}"
    exit 1
  end
  permutation = (0...n).to_a
  turns = (1..n).to_a
  total = 0
  most = 0
  sign = 1
  loop do
    count = flips(permutation)
    total += sign * count
    sign = -sign
    most = count if count > most
    break unless advance(permutation, turns, n)
  end
  total * 1000 + most
end

# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
  7 => 228016,
  8 => 1616022,
  9 => 8629030,
  10 => 73196038,
}

def run_iter(n)
  got = checksum(n)
  want = EXPECTED[n] ||= got
  return if got == want

  puts format("fannkuch_redux: parameter %d: checksum %.17g, expected %.17g", n, got, want)
  exit 1
end
