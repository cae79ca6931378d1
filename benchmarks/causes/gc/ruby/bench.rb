# Garbage collections in known iterations; ../../README.md explains which.

LIVE = Array.new(200_000) { |i| [i] }.freeze

STEPS = 150_000
$iterations = 0

# The usual work of an iteration.
def work
  x = 1
  i = 0
  while i < STEPS
    x = (x * 69069 + 1) & 0x7fffffff
    i += 1
  end
  x
end

def run_iter(n)
  GC.start if $iterations % 50 == n % 50
  $iterations += 1
  work
end
