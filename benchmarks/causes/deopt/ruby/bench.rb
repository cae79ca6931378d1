# A new type in a known iteration; ../../README.md explains which.

STEPS = 150_000
$iterations = 0

class First
  def initialize(value)
    @value = value
  end

  def get
    @value
  end
end

class Second < First
  def get
    @value ^ 1
  end
end

SAME = Array.new(64) { |i| First.new(i) }.freeze
MIXED = Array.new(64) { |i| (i.odd? ? Second : First).new(i) }.freeze

# The usual work of an iteration, with one class until another comes.
def work(objects)
  total = 0
  i = 0
  while i < STEPS
    total = (total + objects[i & 63].get) & 0xffff
    i += 1
  end
  total
end

def run_iter(n)
  work($iterations < 100 + 37 * n % 100 ? SAME : MIXED)
  $iterations += 1
end
