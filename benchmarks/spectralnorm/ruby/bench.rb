# spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
# truncated to n by n, by the power method with ten rounds.
#
# parameter  n, 1 to 10000
# checksum   the norm
#
# Based on the description in the Computer Language Benchmarks Game. Every language
# does the same operations in the same order, so the last bit agrees. For Ruby 2.7
# and later.

MOST = 10_000

# Row i, column j: one over its index, counted along the diagonals.
def element(i, j)
  1.0 / ((i + j) * (i + j + 1) / 2 + i + 1)
end

# A times the vector.
def times(vector)
  n = vector.size
  Array.new(n) do |i|
    total = 0.0
    j = 0
    while j < n
      total += element(i, j) * vector[j]
      j += 1
    end
    total
  end
end

# A transposed times the vector.
def transposed(vector)
  n = vector.size
  Array.new(n) do |i|
    total = 0.0
    j = 0
    while j < n
      total += element(j, i) * vector[j]
      j += 1
    end
    total
  end
end

def checksum(n)
  unless n.between?(1, MOST)
    puts "spectralnorm: parameter #{n} is not within 1 to #{MOST}"
    exit 1
  end
  u = Array.new(n, 1.0)
  v = nil
  10.times do
    v = transposed(times(u))
    u = transposed(times(v))
  end
  uv = vv = 0.0
  n.times do |i|
    uv += u[i] * v[i]
    vv += v[i] * v[i]
  end
  Math.sqrt(uv / vv)
end

# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
  100 => 1.2742199912349306,
  500 => 1.2742241159529055,
}

def run_iter(n)
  got = checksum(n)
  want = EXPECTED[n] ||= got
  return if got == want

  puts format("spectralnorm: parameter %d: checksum %.17g, expected %.17g", n, got, want)
  exit 1
end
