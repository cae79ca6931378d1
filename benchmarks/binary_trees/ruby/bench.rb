# binary_trees - build many perfect binary trees, count their nodes, and discard
# them, while a large one stays alive.
#
# parameter  depth of the large tree, 6 to 24 (smaller ones count as 6)
# checksum   the total number of nodes of all trees
#
# Based on the description in the Computer Language Benchmarks Game. For Ruby 2.7
# and later.

LEAST = 4
MOST = 24

class Node
  attr_reader :left, :right

  def initialize(left, right)
    @left = left
    @right = right
  end
end

def make(depth)
  return Node.new(nil, nil) if depth == 0

  Node.new(make(depth - 1), make(depth - 1))
end

def count(node)
  return 1 if node.left.nil?

  1 + count(node.left) + count(node.right)
end

def checksum(n)
  if n > MOST
    puts "binary_trees: parameter #{n} is above #{MOST}"
    exit 1
  end
  most = [n, LEAST + 2].max
  nodes = count(make(most + 1))
  large = make(most)
  LEAST.step(most, 2) do |depth|
    (1 << (most - depth + LEAST)).times { nodes += count(make(depth)) }
  end
  nodes + count(large)
end

# Known checksums; README.md lists their origin. Checksums of other parameters are
# those of their first iteration.
EXPECTED = {
  10 => 135854,
  12 => 674478,
  14 => 3222190,
}

def run_iter(n)
  got = checksum(n)
  want = EXPECTED[n] ||= got
  return if got == want

  puts format("binary_trees: parameter %d: checksum %.17g, expected %.17g", n, got, want)
  exit 1
end
