-- Another process takes the processor in known iterations; ../../README.md explains which.
local ffi = require("ffi")

ffi.cdef([[
  void *mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset);
  int pipe(int fds[2]);
  long read(int fd, void *bytes, size_t count);
  long write(int fd, const void *bytes, size_t count);
  int close(int fd);
  int fork(void);
  int waitpid(int pid, int *status, int options);
  void _exit(int status);
  int sched_getcpu(void);
  int sched_setaffinity(int pid, size_t bytes, const uint8_t *mask);
]])

local C = ffi.C
local READ_WRITE, SHARED_ANONYMOUS = 3, 0x21 -- of Linux

local STEPS = 300000
local iterations = 0
local ran, wake, competitor -- a counter, a descriptor, a process

-- work is the usual work of an iteration.
local function work()
  local x = 1
  for _ = 1, STEPS do
    x = (x * 69069 + 1) % 65521
  end
  return x
end

-- bind keeps this process, and those that it makes, on the processor that it is on.
local function bind()
  local cpu = C.sched_getcpu()
  local mask = ffi.new("uint8_t[128]")
  mask[math.floor(cpu / 8)] = 2 ^ (cpu % 8)
  C.sched_setaffinity(0, 128, mask)
end

-- compete needs 3 ms of processor time for each byte, until the pipe is closed.
local function compete(pipe)
  local comm = io.open("/proc/self/comm", "w")
  comm:write("competitor")
  comm:close()
  local byte = ffi.new("uint8_t[1]")
  while C.read(pipe, byte, 1) == 1 do
    local stop = os.clock() + 0.003
    while os.clock() < stop do
    end
    ran[0] = ran[0] + 1
  end
  C._exit(0)
end

local function start()
  ran = ffi.cast("int *", C.mmap(nil, 4096, READ_WRITE, SHARED_ANONYMOUS, -1, 0))
  local pipe = ffi.new("int[2]")
  C.pipe(pipe)
  wake = pipe[1]
  bind()
  competitor = C.fork()
  if competitor == 0 then
    C.close(wake)
    compete(pipe[0])
  end
  C.close(pipe[0])
end

-- give_way wakes the competitor, and does not give up the processor before it has had it.
local function give_way()
  local before = ran[0]
  C.write(wake, "1", 1)
  while ran[0] == before do
    C.sched_getcpu() -- without a call the compiler reads the counter only once
  end
end

function run_iter(n)
  if iterations == 0 then
    start()
  end
  if iterations % 50 == n % 50 then
    give_way()
  end
  iterations = iterations + 1
  if iterations == 300 then
    C.close(wake)
    C.waitpid(competitor, nil, 0)
  end
  work()
end
