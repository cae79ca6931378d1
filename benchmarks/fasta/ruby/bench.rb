# fasta - write DNA sequences as lines of text: one by repeating a given piece,
# two by choosing letters with a weighted random number.
#
# parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
# checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
#            the line's character codes, modulo 2 to the 32
#
# Based on the description in the Computer Language Benchmarks Game. Nothing is
# printed, and each iteration starts from the same random seed. For Ruby 2.7 and
# later.

LINE = 60
MOST = 10_000_000

ALU =
  "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG" \
  "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA" \
  "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT" \
  "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA" \
  "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG" \
  "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC" \
  "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA".freeze

IUB = [["a", 0.27], ["c", 0.12], ["g", 0.12], ["t", 0.27]] + "BDHKMNRSVWY".chars.map { |letter| [letter, 0.02] }

HOMO_SAPIENS = [["a", 0.3029549426680], ["c", 0.1979883004921], ["g", 0.1975473066391], ["t", 0.3015094502008]].freeze

# The state of one iteration.
class Writer
  attr_reader :sum
  attr_accessor :seed

  def initialize
    @sum = 0
    @seed = 42
  end

  # Replaces printing.
  def write(line)
    codes = 0
    line.each_byte { |code| codes += code }
    @sum = (@sum * 31 + codes) % 4294967296
  end
end

# The lengths of the lines that letters fill.
def each_length(letters)
  while letters > 0
    yield letters < LINE ? letters : LINE
    letters -= LINE
  end
end

def repeat(writer, piece, letters)
  endless = piece + piece[0, LINE]
  at = 0
  each_length(letters) do |length|
    writer.write(endless[at, length])
    at = (at + length) % piece.size
  end
end

# Each letter is the first whose cumulative share exceeds a random number. The random
# numbers are those of a linear congruential generator of small numbers, the same
# everywhere.
def random_letters(writer, shares, letters)
  total = 0.0
  below = shares.map { |_, share| total += share }
  names = shares.map { |letter, _| letter }
  last = names.size - 1 # takes the rest
  seed = writer.seed
  each_length(letters) do |length|
    line = String.new(capacity: LINE)
    length.times do
      seed = (seed * 3877 + 29573) % 139968
      random = seed / 139968.0
      i = 0
      i += 1 while i < last && random >= below[i]
      line << names[i]
    end
    writer.write(line)
  end
  writer.seed = seed
end

def checksum(n)
  unless n.between?(0, MOST)
    puts "fasta: parameter #{n} is not within 0 to #{MOST}"
    exit 1
  end
  writer = Writer.new
  writer.write(">ONE Homo sapiens alu")
  repeat(writer, ALU, 2 * n)
  writer.write(">TWO IUB ambiguity codes")
  random_letters(writer, IUB, 3 * n)
  writer.write(">THREE Homo sapiens frequency")
  random_letters(writer, HOMO_SAPIENS, 5 * n)
  writer.sum
end

# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
  1000 => 3225012143,
  30000 => 4059268609,
  100000 => 3438851865,
}

def run_iter(n)
  got = checksum(n)
  want = EXPECTED[n] ||= got
  return if got == want

  puts format("fasta: parameter %d: checksum %.17g, expected %.17g", n, got, want)
  exit 1
end
