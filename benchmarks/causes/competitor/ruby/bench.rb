# Another process takes the processor in known iterations; ../../README.md explains which.
require "fiddle"

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

# Keep this process, and those that it makes, on the processor that it is on.
def bind
  int = Fiddle::TYPE_INT
  libc = Fiddle.dlopen(nil)
  cpu = Fiddle::Function.new(libc["sched_getcpu"], [], int).call
  mask = [1 << cpu % 64].pack("Q").rjust(8 * (cpu / 64 + 1), "\0").ljust(128, "\0")
  Fiddle::Function.new(libc["sched_setaffinity"], [int, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], int)
                  .call(0, mask.bytesize, mask)
end

def process_time
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

# Need 3 ms of processor time for each byte, and answer it, until the pipe is closed.
def compete(pipe, answer)
  Process.setproctitle("competitor")
  File.write("/proc/self/comm", "competitor")
  while pipe.read(1)
    stop = process_time + 0.003
    nil while process_time < stop
    answer.syswrite("1")
  end
  exit!(0)
end

def start
  bind
  pipe, $wake = IO.pipe
  $answer, answer = IO.pipe
  $competitor = fork do
    $wake.close
    compete(pipe, answer)
  end
  pipe.close
  answer.close
end

# Wake the competitor, and do not give up the processor before it has had it.
def give_way
  $wake.syswrite("1")
  nil while $answer.read_nonblock(1, exception: false) == :wait_readable
end

def run_iter(n)
  start if $iterations == 0
  give_way if $iterations % 50 == n % 50
  $iterations += 1
  if $iterations == 300
    $wake.close
    Process.wait($competitor)
  end
  work
end
