# frozen_string_literal: true

# What CRuby reports about itself, for runner.rb with KRUN_INSTRUMENT: garbage collections, created
# objects, and the statistics of its JIT compiler YJIT. They are read between two iterations. The
# events come from krunruby.so.

module KrunRunner
  # The columns of an execution.
  class Columns
    # Columns of YJIT, their units, and the keys of its statistics that they add. Ruby 3.1 has only
    # the sizes, later versions have more.
    YJIT = [
      ["code_size", "bytes", %i[inline_code_size outlined_code_size]],
      ["jit_count", "", %i[compiled_iseq_count]],
      ["jit_time", "ns", %i[compile_time_ns]],
      ["deopt_count", "", %i[invalidation_count]]
    ].freeze

    # add and set are krun_column and krun_set.
    def initialize(add, set, handle)
      @add, @set, @handle = add, set, handle
      @objects = column("alloc_blocks", "")
      @freed = column("freed_blocks", "")
      @count = column("gc_count", "")
      @time = column("gc_time", "ns") if GC.respond_to?(:total_time) # from Ruby 3.1 on
      @yjit = yjit? ? yjit_columns(RubyVM::YJIT.runtime_stats) : []
      remember
    end

    # Sets the columns of the iteration that ended. alloc_blocks is read first and remembered last,
    # so that it does not count the objects created here.
    def ended
      @set.call(@handle, @objects, GC.stat(:total_allocated_objects) - @objects_before)
      @set.call(@handle, @freed, GC.stat(:total_freed_objects) - @freed_before)
      @set.call(@handle, @count, GC.count - @count_before)
      @set.call(@handle, @time, GC.total_time - @time_before) if @time
      set_yjit(RubyVM::YJIT.runtime_stats) unless @yjit.empty?
      remember
    end

    private

    # Returns the index of a new column. krun_set ignores that of a column that there is no room for.
    def column(name, unit)
      @add.call(@handle, name, unit)
    end

    def remember
      @count_before = GC.count
      @time_before = GC.total_time if @time
      @freed_before = GC.stat(:total_freed_objects)
      @objects_before = GC.stat(:total_allocated_objects)
    end

    def yjit?
      defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
    end

    # Returns [index, keys, value before the iteration] of the columns that this version has.
    def yjit_columns(stats)
      YJIT.select { |_, _, keys| keys.all? { |key| stats[key] } }
          .map { |name, unit, keys| [column(name, unit), keys, name == "code_size" ? nil : stats[keys[0]]] }
    end

    # The size of the code is a level, the others are differences.
    def set_yjit(stats)
      @yjit.each do |column|
        index, keys, before = column
        value = stats[keys[0]]
        if before
          column[2] = value
          @set.call(@handle, index, value - before)
        else
          @set.call(@handle, index, value + stats[keys[1]])
        end
      end
    end
  end
end
