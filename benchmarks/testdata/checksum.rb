# checksum.rb BENCH_RB N... - what testdata/checksum.c does, for Ruby.
load File.expand_path(ARGV[0])
ARGV.drop(1).map(&:to_i).each do |n|
  puts format("%.17g", checksum(n))
  $stdout.flush
  run_iter(n)
  run_iter(n)
end
