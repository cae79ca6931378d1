// Package results stores and reads what was measured: one immutable file per
// attempt at a slot of the schedule.
//
// The daemon has an [Appender], which only adds. Everything else uses a
// [Reader], which only reads; [Scan] reads many records on all processors and
// yields them in order, for krunctl. Nothing here judges or computes. Start
// reading at [Record].
//
// # Files
//
// The directory results/ of an experiment holds one file per attempt,
//
//	SLOT-ATTEMPT.json.gz    0000017-001.json.gz
//
// the slot's index in the schedule (from 0, at least 7 digits) and the attempt
// (from 1, at least 3 digits), both padded with zeros. A file is written once
// (temporary file, sync, rename, sync of the directory) and never changed; the
// records of rejected attempts stay. Files named *.tmp or *.tmpN are left over
// from a crash: readers pass over them, Clean removes them.
//
// A file is one gzip member (RFC 1952) without name and time, so that the same
// record always gives the same bytes. It holds one JSON object in UTF-8 and a
// newline.
//
// # Numbers
//
// Numbers are integers and exact: -2^63 to 2^63-1, counts 0 to 2^64-1. A
// program that reads JSON numbers as floating point loses bits above 2^53.
// Durations and stamps are nanoseconds (_ns), sizes bytes (_bytes),
// temperatures thousandths of a degree Celsius (milli_c).
//
// A stamp counts from the arbitrary start of "clock" (on Linux: the boot), so
// stamps of one record can be subtracted from each other and from nothing else.
//
// # Null
//
// Null means: not known, not available, never reached. An empty list means
// that there was nothing to list. A zero is a measured zero. Empty strings are
// explained where they can occur.
//
// # The object
//
// The fields come in this order.
//
//	format           1. A change that an old reader would misunderstand raises it;
//	                 added fields do not: readers skip those they do not know
//	key              "benchmark:vm:variant"
//	benchmark, vm, variant    the parts of key
//	krund            version of the daemon
//	experiment       name
//	config_hash      SHA-256 of the text of the configuration, 64 hexadecimal digits
//	host             name of the machine
//	slot, attempt    as in the file's name
//	pexec            number of the process execution among those of its key, from 1
//	parameter        integer argument of the benchmark
//	iterations       in-process iterations planned
//	outcome          "completed", "error", "timeout" or "rerun" (disturbed, run again)
//	reasons          list of sentences
//	reboot           "hardware" (machine restarted before) or "none"
//	boot_id          the kernel's random name of the boot
//	started          wall clock just before the process was made, RFC 3339, UTC
//	clock            "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC", or "external" when a
//	                 suite took its times itself
//	counter_source   "perf", "rdpmc", "msr", "none", or "external"
//	counter_reason   why this source and no better one
//	startup          stamps, each may be null
//	  exec_ns        just before exec
//	  init_ns        first call of libkrun
//	  first_ns       begin of the first iteration, completed or not
//	  done_ns        the runner said that it is done
//	start_ns         stamp of the begin of each complete iteration; null when the
//	                 source has durations only
//	wall_ns          duration of each complete iteration: end stamp - begin stamp.
//	                 Also of a run that crashed or ran out of time, as far as it
//	                 came; null when nothing could be measured at all
//	columns          list, for each further series, null when nothing was measured:
//	  name, unit     unit "" is a plain count
//	  kind           "counter" (processor or kernel) or "user" (set by the benchmark)
//	  core           processor number of a per-core counter, else null
//	  values         one per complete iteration: of a counter the increase during
//	                 it; of a user column what was set. null where it could not be
//	                 read, or nothing was set
//	totals           list, null without counters around the whole execution:
//	  name, unit, core   as of columns
//	  value          increase from before the first iteration until the runner was
//	                 done; null when it could not be read
//	energy           list, null if the machine has no energy counters: what its parts
//	                 used from just before the process was created until krund had seen
//	                 its end, by whatever process
//	  zone, name     the kernel's name (intel-rapl:0:1), and what it is (package-0,
//	                 core, dram, ...); a package contains its cores
//	  energy_uj      microjoules; null when unknown, and then
//	  reason         says why, else ""
//	library          state of the shared buffer at the end, null without libkrun
//	  state          "new" (never attached), "ready" (not ended properly), "done"
//	  error          first error libkrun returned to the runner, "" for none
//	  begun_ns       begin of the last iteration, complete or not; or null
//	  findings       list of sentences: contents libkrun cannot have written
//	process
//	  argv, dir, env command line, working directory, list of "NAME=value" as passed
//	  env_bytes      size of the environment as passed, zero bytes included
//	  account        user name, "" when the user has none
//	  uid, gid
//	  fresh_home     true: account and home directory were made for this attempt
//	  nice, policy   priority, scheduling policy ("" unknown)
//	  cgroup         control group ("" none), cgroup_reason: why none
//	  affinity       list of processors allowed, null unknown
//	  limits         heap_bytes, stack_bytes, timeout_ns, output_bytes, processes (and
//	                 threads, at a time; null also when it could not be limited);
//	                 null is none
//	  pid            0: not started
//	  not_started    null, or step, errno ("" none) and text of what failed
//	  exit           exit status, null when it has none
//	  signal         name of the signal that ended it, "" for none
//	  timed_out      true: killed at timeout_ns
//	  interrupted    true: killed because krund was stopped
//	  wall_ns, utime_ns, stime_ns   real, user and system time of the process
//	  maxrss_bytes   largest resident size; "at most" when it equals
//	                 maxrss_floor_bytes, which krund's own start contributed
//	  minor_faults, major_faults, voluntary_switches, involuntary_switches
//	  stdout, stderr text (what was kept, bad UTF-8 replaced by U+FFFD), bytes
//	                 (all that was written), truncated
//	  strays         processes left behind, which krund killed
//	  oom_kills      processes that the kernel killed meanwhile because memory ran out
//	  findings       list of sentences; this one, as reasons and kernel_log.lines,
//	                 is bounded, and says at its end how much was left out
//	machine
//	  controls       list of name, policy, status, wanted, found (value before) and
//	                 detail: each machine setting
//	  temperatures   base (first boot of the experiment), before and after the run:
//	                 lists of sensor and milli_c, null when not read
//	  throttle       before, after: lists of name and count, null when unavailable
//	  kernel_log     lines (unexpected ones during the run, the first 200 of them,
//	                 control characters as \xNN; null when unreadable) and
//	                 lost (messages overwritten unread)
//	  fingerprint    object of strings: hardware and software; null when not taken
//	daemon           krund's own use of the machine during the run
//	  cpu_ns, voluntary_switches, involuntary_switches
//	  wake_ups       how often one of krund's threads got a processor, from just before
//	                 the process was made until its end was seen; null unknown
//	  cpus           list of processors krund kept to meanwhile, null when it was not
//	                 confined
//	  rss_before_bytes, rss_bytes   resident size at the start and the end of the wait
//	  kernel_threads what the kernel's own threads did meanwhile, null unknown
//	    all          cpu_ns, and runs: how often one of them got a processor
//	    benchmark    the same of those that were last on a processor of the benchmark's
//	    busiest      list of name, cpu (processor it was last on), cpu_ns and runs of
//	                 those that ran longest, at most ten, the longest first
package results
