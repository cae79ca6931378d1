// Package results stores and reads what was measured: one immutable file per attempt of a slot of
// the schedule.
//
// The daemon uses an [Appender], which only adds records. Everything else uses a [Reader], which
// only reads; [Scan] reads many records on all processors and yields them in order, for krunctl.
// Nothing here judges or computes. Start reading at [Record].
//
// # Files
//
// The directory results/ of an experiment contains one file per attempt,
//
//	SLOT-ATTEMPT.json.gz    0000017-001.json.gz
//
// the slot's index in the schedule (from 0, at least 7 digits) and the attempt (from 1, at least 3
// digits), both padded with zeros. A file is written once (temporary file, sync, rename, sync of
// the directory) and never changed; the records of rejected attempts are kept. Files named *.tmp or
// *.tmpN are left over from a crash: readers ignore them, and Clean removes them.
//
// A file is one gzip member (RFC 1952) without name and time, so that the same record always yields
// the same bytes. It contains one JSON object in UTF-8 and a newline.
//
// # Numbers
//
// Numbers are exact integers: -2^63 to 2^63-1, counts 0 to 2^64-1. Programs that read JSON numbers
// as floating point lose bits above 2^53. Durations and stamps are in nanoseconds (_ns), sizes in
// bytes (_bytes), temperatures in thousandths of a degree Celsius (milli_c).
//
// Stamps count from the arbitrary origin of "clock" (on Linux: the boot), so only stamps of the
// same record can be subtracted from each other.
//
// # Null
//
// Null means unknown, unavailable, or never reached. An empty list means that there was nothing to
// list. A zero is a measured zero. The meaning of an empty string is explained where it can occur.
//
// # The object
//
// The fields come in this order.
//
//	format           1. A change that an old reader would misunderstand raises it;
//	                 added fields do not: readers skip those they do not know
//	key              "benchmark:vm:variant"; in an experiment with arms,
//	                 "benchmark:vm:variant@arm"
//	benchmark, vm, variant    the parts of key
//	arm              its arm; absent without arms
//	krund            version of the daemon
//	experiment       name
//	config_hash      SHA-256 of the text of the configuration, 64 hexadecimal digits
//	host             name of the machine
//	slot, attempt    as in the file's name
//	pexec            number of the process execution among those of its key, from 1
//	edition          number of the programs that are measured, from 1: a person has accepted that
//	                 they differ from those before; absent: the version did not check that they
//	                 stay the same
//	parameter        integer argument of the benchmark
//	iterations       in-process iterations planned; a completed execution has as many,
//	                 unless the watcher stopped it
//	instrument       "columns" or "events": the runner was asked to report what the VM did,
//	                 which costs time; absent: it was not, or the version could not ask
//	outcome          "completed", "error", "timeout" or "rerun" (disturbed, run again)
//	reasons          list of sentences
//	reboot           how the boot of the execution began: "hardware" (the machine was
//	                 restarted), "kexec" (its kernel), "soft" (its programs); or "none":
//	                 executions share a boot
//	boot_id          the kernel's random name of the boot; after soft reboots "+" and
//	                 their number follow it
//	started          wall clock just before the process was made, RFC 3339, UTC
//	clock            "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC", or "external" if a
//	                 suite took its times itself
//	counter_source   "perf", "rdpmc", "msr", "none", or "external"
//	counter_reason   why this source and no better one
//	startup          stamps, each may be null
//	  exec_ns        just before exec
//	  init_ns        first call of libkrun
//	  first_ns       start of the first iteration, completed or not
//	  done_ns        the runner said that it is done
//	start_ns         start stamp of each complete iteration; null if the
//	                 source has durations only
//	wall_ns          duration of each complete iteration: end stamp - start stamp.
//	                 Also of a run that crashed or timed out, up to that
//	                 point; null if nothing could be measured
//	columns          list of further series, null if nothing was measured:
//	  name, unit     unit "" is a plain count
//	  kind           "counter" (processor or kernel) or "user" (set by the benchmark)
//	  core           processor number of a per-core counter, else null
//	  empty          of a counter: the least that iterations without work counted before
//	                 the first one, which is the readings themselves; absent if unknown
//	  values         one per complete iteration: of a counter the increase during
//	                 it; of a user column what was set. null where it could not be
//	                 read, or nothing was set
//	totals           list, null without counters around the whole execution:
//	  name, unit, core   as of columns
//	  value          increase from before the first iteration until the runner was
//	                 done; null if it could not be read
//	events           list of what happened while the process ran, by time; absent without any.
//	                 The kinds of the benchmark's process (instrument = "events") are gc,
//	                 compile, deopt, code (cache of compiled code), load, pause and mark
//	                 (the benchmark's own); of the kernel switch, irq, fault and smi
//	  kind
//	  time_ns        its start; may be before init_ns, and after the last iteration
//	  duration_ns    0: an instant, or unknown
//	  argument       depends on the kind: krun.h (of a switch: its process); null: none
//	  name           of a function, class, task, ...: printable ASCII, "" none, "(other)":
//	                 one of too many names
//	events_lost      events that happened and are not in the list; absent: 0
//	switches         the recording of the events of kind switch: runs of other processes
//	                 on a processor that a thread of the benchmark lost, though it could
//	                 have gone on, from exec_ns to done_ns; absent if counters.kernel
//	                 does not ask for it
//	  reason         why there is none, or an incomplete one; "" if it is complete
//	  cpus           list of the processors that were recorded, null: none
//	  full_ns        when the memory for the records of a processor was full: later events
//	                 of it are missing; null: never
//	  tasks          list of name ("" unknown), pid, cpu_ns, and runs of the ten that ran
//	                 longest
//	energy           list of the energy that parts of the machine used from
//	                 just before the process was created until krund saw its end,
//	                 whatever caused it; null if the machine does not report it
//	  zone, name     the kernel's name (intel-rapl:0:1), and its kind (package-0,
//	                 core, dram, ...); a package includes its cores
//	  energy_uj      microjoules; null if unknown, and then
//	  reason         is the reason, else ""
//	frequencies      list of what APERF and MPERF should have shown; absent without
//	                 them, and in records of versions that expected their ratio to be 1
//	                 on every core
//	  core           processor number, null: the benchmark's threads
//	  expected       APERF/MPERF while busy: held_khz over mperf_hz (measured_hz if the
//	                 hardware has no such level and took the next), 1 if one of them is
//	                 unknown; null: not judged (threads on cores with different ratios)
//	  held_khz       frequency that the limits hold the core at, null unknown
//	  mperf_hz       how fast MPERF counts, null unknown; source says how it is known:
//	                 "measured" (core kept busy before the run), "run" (fastest MPERF of
//	                 any core in the run), or ""
//	  measured_hz    frequency of the busy core just before the run, null not measured
//	library          state of the shared buffer at the end, null without libkrun
//	  state          "new" (never attached), "ready" (not ended properly), "done"
//	  error          first error libkrun returned to the runner, "" for none
//	  begun_ns       start of the last iteration, complete or not; or null
//	  findings       list of sentences: contents that libkrun cannot have written
//	layout           how krund chose the addresses of the process, without the system's
//	                 randomization; absent if it did not
//	  mode           "fixed" (the same in every execution) or "random" (the same for
//	                 all keys and arms with this pexec)
//	  padding_bytes  bytes "x" in the variable KRUN_LAYOUT, which is empty in process.env
//	  offset_bytes   by how much environment and stack begin lower than with "fixed"
//	  relink         the command experiment.relink; absent without it
//	    seed         that it got, the same for all keys and arms with this pexec
//	    sha256       of the file that it wrote and that was executed; "" if it failed
//	watcher          a process that read the series while it was measured, to show the
//	                 number of iterations or to find the end of warm-up; absent without
//	                 one
//	  cpu, uid       processor that it was bound to, and its user
//	  shows          true: it wrote the number of iterations to the terminal
//	  stop           null if it did not look for the end of warm-up
//	    criterion, profile, threshold, step, warmup_min, warmup_max, measure, seed
//	                 the rules, as in [stop.iterations]
//	    dry_run      true: it would not have stopped the execution
//	    warmup       number of iterations of warm-up, null if it did not end
//	    stable       true: it ended because the criterion was stable; false: it was as
//	                 long as it may be
//	    value        of the criterion at the end of warm-up, null undefined
//	    stop_at      number of iterations with which the measurement was complete; null
//	                 if it was not. It follows from wall_ns, as warmup does
//	    asked_at     number of complete iterations when the process was asked to stop,
//	                 at least stop_at; null if it was not asked
//	    measured     number of iterations after warm-up
//	  problem        why it did not work until the end, "" if it did; the execution then
//	                 has all its iterations, unless it was asked to stop before
//	process
//	  argv, dir, env command line, working directory, list of "NAME=value" as passed;
//	                 only "NAME" of a variable inherited from who started krund
//	                 (experiment.environment = "caller"): its value may be secret
//	  env_inherited_sha256
//	                 SHA-256 of the inherited variables, each "NAME=value" and a zero
//	                 byte, in this order; absent without any
//	  env_bytes      size of the environment as passed, zero bytes included
//	  account        user name, "" if the user has none
//	  uid, gid
//	  fresh_home     true: account and home directory were created for this attempt
//	  nice, policy   priority, scheduling policy ("" unknown)
//	  cgroup         control group ("" none), cgroup_reason: why none
//	  affinity       list of processors allowed, null unknown
//	  limits         heap_bytes, stack_bytes, timeout_ns, output_bytes, processes (and
//	                 threads, at once; null also if it could not be limited);
//	                 null means no limit
//	  pid            0: not started
//	  not_started    null, or step, errno ("" none) and text of what failed
//	  exit           exit status, null if it has none
//	  signal         name of the signal that ended it, "" for none
//	  timed_out      true: killed at timeout_ns
//	  interrupted    true: killed because krund was stopped
//	  wall_ns, utime_ns, stime_ns   real, user and system time of the process
//	  group_ns       processor time of its control group, which has also the processes
//	                 that it did not wait for; 0 if there is none of version 2
//	  maxrss_bytes   largest resident size; "at most" if it equals
//	                 maxrss_floor_bytes, which krund's own start contributed
//	  minor_faults, major_faults, voluntary_switches, involuntary_switches
//	  stdout, stderr text (what was kept, bad UTF-8 replaced by U+FFFD), bytes
//	                 (all that was written), truncated
//	  strays         processes left behind, which krund killed
//	  oom_kills      processes that the OOM killer of the kernel killed during the run
//	  findings       list of sentences; this one, like reasons and kernel_log.lines,
//	                 is bounded, and its end states how much was left out
//	machine
//	  controls       list of name, policy, status, wanted, found (value before), detail
//	                 and after (value read again after the run; absent if it was not):
//	                 each machine setting
//	  temperatures   base (first boot of the experiment), before and after the run:
//	                 lists of sensor and milli_c, null if not read
//	  throttle       before, after: lists of name and count, null if unavailable
//	  power_limits   list of zone, name, limit (the kernel's names), uw (microwatts),
//	                 window_us and enabled: how much power the processor's parts may
//	                 use, before the run; absent if there are none or not read
//	  kernel_log     lines (unexpected ones during the run, the first 200 of them,
//	                 control characters as \xNN; null when unreadable) and
//	                 lost (messages overwritten unread)
//	  fingerprint    object of strings: hardware and software; null if not taken
//	  tsc_khz        to which the kernel calibrated the time stamp counter in this boot,
//	                 by its log; absent if unknown
//	  suspended_ns   how long the machine slept during the run (CLOCK_BOOTTIME minus
//	                 CLOCK_MONOTONIC); absent if unknown
//	  settle         of the wait for a quiet machine: waited_ns, quiet, and busy (list
//	                 of sentences: what kept it busy last); absent without one
//	  waits          fixed waits before the run: startup_ns (0 with settle), and sync_ns;
//	                 both are 0 by default without reboots; absent in older records
//	  load           what the machine did from just before the run until just after it;
//	                 absent in older records:
//	    window_ns    how long that was
//	    load_milli   load average of the minute before, in thousandths, or null
//	    busy_ns      processor time of everything, the benchmark included, and steal_ns
//	                 what a hypervisor withheld, both in ticks of 10 ms, or null
//	    others_ns    the part of busy_ns that neither krund nor a process that it waited
//	                 for, such as the benchmark, has used; absent in older records
//	    pressure     list of resource and some_ns: how long a task waited for it
//	    programs     the busiest that still ran afterwards: name, pid, cpu_ns
//	    krunds       processes of other krunds
//	    interrupts   the ten most frequent interrupts and softirqs of the benchmark's
//	                 processors: kind ("interrupt", "softirq"), name, count; null if
//	                 unknown, and in older records
//	    counts       what advanced: names of /proc/vmstat (huge pages, swapping, pages
//	                 from and to other nodes, compaction), and "idle.STATE", microseconds
//	                 of the benchmark's processors in an idle state; absent without
//	daemon           krund's own resource use during the run
//	  cpu_ns, voluntary_switches, involuntary_switches
//	  wake_ups       how often one of krund's threads got a processor, from just before
//	                 the process was created until its end was seen; null if unknown
//	  cpus           list of processors that krund was confined to, null if it was not
//	                 confined
//	  rss_before_bytes, rss_bytes   resident size at the start and the end of the wait
//	  kernel_threads what the kernel's own threads did during the run, null if unknown
//	    all          cpu_ns, and runs: how often one of them got a processor
//	    benchmark    the same for those last on a processor of the benchmark
//	    busiest      list of name, cpu (processor it was last on), cpu_ns and runs of
//	                 those that ran longest, at most ten, the longest first
package results
