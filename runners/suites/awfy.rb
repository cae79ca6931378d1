# Hook of krund for are-we-fast-yet in Ruby: an iteration is one call of measure in the suite's
# run.rb, which checks the result.
file = ENV.fetch("KRUN_SUITE_FILE")
inner = ARGV[1].to_i
require file
benchmark = Object.const_get(ENV.fetch("KRUN_SUITE_BENCHMARK")).new

KrunRunner.suite do
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  raise "Benchmark failed with incorrect result" unless benchmark.inner_benchmark_loop(inner)

  (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start) / 1e9
end
