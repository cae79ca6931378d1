# A function that becomes hot in a known iteration; ../../README.md explains which.

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

# More work, in calls: YJIT compiles a method that is called often.
def fresh(x)
  x = (x * 69069 + 1) & 0x7fffffff
  x ^ (x >> 7)
end

def run_iter(n)
  if $iterations < 100 + 37 * n % 100
    work
  else
    x = 1
    i = 0
    while i < STEPS
      x = fresh(x)
      i += 1
    end
  end
  $iterations += 1
end
