# Hook of krund for ruby-bench: a harness, which the suite's loader.rb finds as it finds its own
# harness-*/harness.rb. The runner for Ruby loads it in the place of a benchmark; it runs the suite's
# file, whose run_benchmark gives each call of its block to the runner.
file = ENV.fetch("KRUN_SUITE_FILE")
require File.join(ENV.fetch("KRUN_SUITE"), "harness", "harness-common")

# Measures the block of a benchmark. The suite's hint of a number of iterations is not used, as in its
# own harness.
def run_benchmark(_hint, **)
  if KrunRunner.suite?
    warn "not measured: another run_benchmark of this file"
    return
  end
  KrunRunner.suite do
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
  end
end

$PROGRAM_NAME = file
ARGV.clear
begin
  load file
rescue LoadError => error
  KrunRunner.fail(66, ENV["KRUN_SUITE_BENCHMARK"], " cannot run here: it needs what is not installed: ", error.message)
end
KrunRunner.fail(66, file, " has not called run_benchmark") unless KrunRunner.suite?
