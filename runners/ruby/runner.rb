# frozen_string_literal: true

# Iteration runner for Ruby: CRuby 2.7 and later with its JITs, and others that
# have Fiddle (TruffleRuby, JRuby).
#
# usage: runner.rb BENCHMARK_FILE PARAMETER
#
# Loads the benchmark and calls its method run_iter(PARAMETER) until libkrun says
# stop. libkrun is the file that the environment variable KRUN_LIBRARY names, or
# libkrun.so beside this file, or ../../lib/libkrun.so. With KRUN_INSTRUMENT it also loads
# instrument.rb, which asks CRuby what it did in each iteration.
#
# exit status: 0 measured; 64 usage; 65 the benchmark has no method run_iter; 66
# the benchmark cannot be loaded; 69 libkrun cannot be loaded; 70 the benchmark
# raised an exception; 71 krun_init failed; 76 krun_begin or krun_end failed; 78
# instrument.rb cannot be loaded. If the benchmark exits by itself, its status is kept.

# Everything of the runner is in this module, so that it does not share names with the benchmark.
module KrunRunner
  EXIT_USAGE = 64
  EXIT_NO_ENTRY = 65
  EXIT_BENCHMARK = 66
  EXIT_LIBRARY = 69
  EXIT_EXCEPTION = 70
  EXIT_INIT = 71
  EXIT_MEASURE = 76
  EXIT_INSTRUMENT = 78

  VERSION = 1 # KRUN_VERSION of krun.h

  # What the benchmark may do on its own; everything else is a failure.
  ITS_OWN = [SystemExit, SignalException].freeze

  # Prints the reason to stderr and exits. The text is joined as bytes, because a file name and an
  # exception's message may have incompatible encodings.
  def self.fail(status, *text)
    $stderr.write("runner.rb: ".b, *text.map(&:b), "\n")
    Kernel.exit(status)
  end

  # Like fail, with the backtrace of the exception. The message ends with the first line of the
  # exception, because krund quotes the last line.
  def self.fail_in_benchmark(status, error, *text)
    $stderr.write(error.full_message(highlight: false, order: :top).b.chomp, "\n")
    message = error.message.b.strip.lines.first.to_s.strip
    fail(status, *text, ": ", error.class.to_s, ": ", message)
  end

  # Returns the path of libkrun.
  def self.library_path
    path = ENV["KRUN_LIBRARY"].to_s
    return path unless path.empty?

    beside = File.join(__dir__, "libkrun.so")
    File.exist?(beside) ? beside : File.expand_path("../../lib/libkrun.so", __dir__)
  end

  # libkrun's functions. need_gvl keeps the interpreter lock during a call, so that no other thread
  # of the benchmark can take it between the clock and run_iter. Fiddle supports it from Ruby 3.0
  # on.
  class Library
    attr_reader :should_stop, :start, :stop

    def initialize(path)
      require "fiddle"
      @file = Fiddle.dlopen(path)
      # A handle is passed as a number, because Fiddle would create objects for a pointer in each
      # call.
      @should_stop, @start, @stop, @done =
        %w[krun_should_stop krun_begin krun_end krun_done].map { |name| bind(name, [Fiddle::TYPE_LONG]) }
      @init = bind("krun_init", [Fiddle::TYPE_VOIDP])
      @strerror = bind("krun_strerror", [Fiddle::TYPE_INT], Fiddle::TYPE_LONG)
      @version = bind("krun_version", [])
    end

    def version
      @version.call
    end

    # Calls krun_init and returns its code and the handle, a number.
    def init
      out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
      [@init.call(out), out.ptr.to_i]
    end

    def done(handle)
      @done.call(handle)
    end

    # Returns krun_column and krun_set as function objects.
    def columns
      [bind("krun_column", [Fiddle::TYPE_LONG, Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP]),
       bind("krun_set", [Fiddle::TYPE_LONG, Fiddle::TYPE_INT, Fiddle::TYPE_LONG_LONG])]
    end

    # Makes krunruby.so report garbage collections as events, in the iterations that cause them.
    def watch_gc(handle)
      return unless KrunRunner.respond_to?(:watch_gc)

      KrunRunner.watch_gc(bind("krun_now_ns", []), bind("krun_event", []), handle)
    end

    # Returns libkrun's explanation of a code. The address is a number, because VMs differ in what
    # they return for a pointer.
    def error_text(code)
      Fiddle::Pointer.new(@strerror.call(code)).to_s
    end

    # Makes the three calls of an iteration without the half microsecond that Fiddle spends inside
    # the measurement: krunruby.so overrides the method call of these function objects. On VMs other
    # than CRuby, and without that file, Fiddle's method call is used.
    def hasten(extension)
      return unless RUBY_ENGINE == "ruby" && File.exist?(extension)

      require extension
      KrunRunner.hasten(@should_stop, @start, @stop)
    rescue LoadError
      nil # a development version of Ruby needs extensions built for it
    end

    private

    def bind(name, arguments, result = Fiddle::TYPE_INT)
      address = @file[name]
      begin
        Fiddle::Function.new(address, arguments, result, need_gvl: true)
      rescue ArgumentError
        Fiddle::Function.new(address, arguments, result)
      end
    end
  end

  # Returns libkrun in the version that the runner was written for.
  def self.open_library
    path = library_path
    begin
      library = Library.new(path)
      version = library.version
    rescue StandardError, LoadError => error
      fail(EXIT_LIBRARY, "cannot load libkrun: ", error.message, "; set KRUN_LIBRARY to the path of libkrun.so")
    end
    if version != VERSION
      fail(EXIT_LIBRARY, path, " has interface version #{version}, this runner needs #{VERSION}; install both together")
    end
    library
  end

  # Returns the handle, a number.
  def self.open_handle(library)
    code, handle = library.init
    fail(EXIT_INIT, "krun_init: ", library.error_text(code)) unless code.zero?
    handle
  end

  # Loads the file at path. Its directory becomes the first one of $LOAD_PATH, and files that it
  # requires may require it.
  def self.load_benchmark(path)
    begin
      file = File.realpath(path)
      File.open(file).close
    rescue SystemCallError => error
      fail(EXIT_BENCHMARK, "cannot read the benchmark: ", error.message)
    end
    $LOAD_PATH.unshift(File.dirname(file))
    $LOADED_FEATURES << file
    begin
      load(file)
    rescue *ITS_OWN
      raise
    rescue Exception => error # SyntaxError is not a StandardError
      fail_in_benchmark(EXIT_BENCHMARK, error, path, " raised an exception while it was loaded")
    end
  end

  # Runs the benchmark named by the arguments, by calling main's krun_measure.
  def self.run(main, arguments)
    path, parameter = arguments
    if arguments.size != 2 || parameter !~ /\A-?[0-9]+\z/
      $stderr.write("usage: runner.rb BENCHMARK_FILE PARAMETER (an integer)\n")
      Kernel.exit(EXIT_USAGE)
    end
    library = open_library
    handle = open_handle(library)
    library.hasten(File.join(__dir__, "krunruby.so"))
    @suite = [library, handle]
    load_benchmark(path)
    unless @suite_code
      fail(EXIT_NO_ENTRY, path, " has no function run_iter") unless main.respond_to?(:run_iter, true)
      instrument(library, handle) if ENV["KRUN_INSTRUMENT"]
    end
    code = @suite_code || measure(main, path, library, handle, parameter.to_i)
    fail(EXIT_MEASURE, "krun_begin or krun_end: ", library.error_text(code)) unless code.zero?
  end

  # Whether the hook of a suite has measured.
  def self.suite?
    !@suite_code.nil?
  end

  # Measures for the hook of a suite, which is loaded in the place of a benchmark: the block returns
  # the seconds that the suite itself measured for the iteration, which become a column.
  def self.suite
    library, handle = @suite
    instrument(library, handle) if ENV["KRUN_INSTRUMENT"]
    name, set = library.columns
    column = name.call(handle, "suite_time", "ns")
    should_stop, start, stop = library.should_stop, library.start, library.stop
    while should_stop.call(handle) == 0
      start.call(handle)
      seconds = yield
      @suite_code = stop.call(handle)
      return if @suite_code != 0

      set.call(handle, column, (seconds * 1e9).to_i)
      @columns&.ended
    end
    @suite_code = library.done(handle)
  end

  # Sets columns after each iteration, and with "events" reports garbage collections.
  def self.instrument(library, handle)
    return unless RUBY_ENGINE == "ruby"

    require File.join(__dir__, "instrument.rb")
    @columns = Columns.new(*library.columns, handle)
    library.watch_gc(handle) if ENV["KRUN_INSTRUMENT"] == "events"
  rescue LoadError => error
    fail(EXIT_INSTRUMENT, "KRUN_INSTRUMENT needs instrument.rb: ", error.message, "; install it beside runner.rb")
  end

  # Returns the code of the call that failed, or 0.
  def self.measure(main, path, library, handle, parameter)
    code = if @columns
             main.krun_measure_with(@columns, library.should_stop, library.start, library.stop, handle, parameter)
           else
             main.krun_measure(library.should_stop, library.start, library.stop, handle, parameter)
           end
    code.zero? ? library.done(handle) : code
  rescue *ITS_OWN
    raise
  rescue Exception => error # includes SystemStackError and NotImplementedError
    fail_in_benchmark(EXIT_EXCEPTION, error, path, " raised an exception in run_iter")
  end
end

# Iterates until libkrun says stop; returns the code of the krun_end that failed, or 0. The result
# of krun_begin is not checked, because the check would be measured, and krun_end reports the same
# error. It is a method of main, because main is self in a benchmark's top-level code, whose
# instance variables run_iter may use.
def self.krun_measure(should_stop, start, stop, handle, parameter)
  while should_stop.call(handle) == 0
    start.call(handle)
    run_iter(parameter)
    code = stop.call(handle)
    return code if code != 0
  end
  0
end

# Like krun_measure, and sets the columns after each iteration.
def self.krun_measure_with(columns, should_stop, start, stop, handle, parameter)
  while should_stop.call(handle) == 0
    start.call(handle)
    run_iter(parameter)
    code = stop.call(handle)
    return code if code != 0

    columns.ended
  end
  0
end

KrunRunner.run(self, ARGV)
