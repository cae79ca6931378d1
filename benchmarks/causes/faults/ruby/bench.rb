# Page faults in known iterations; ../../README.md explains which.

FRESH = 8 << 20 # bytes

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

# Writes to each page of new memory, which malloc maps and unmaps.
def touch
  memory = "1" * FRESH
  memory.clear
end

def run_iter(n)
  touch if $iterations % 50 == n % 50
  $iterations += 1
  work
end
