package child

import "krund/internal/experiment/results"

// Run is what happened. Every field is data; internal/execution/verdict judges it.
type Run struct {
	// What a record says about the process, but for what the caller knows: Argv, Dir, Env, Account,
	// FreshHome and Limits. PID is 0 when no process was started at all. NotStarted is nil when the
	// benchmark's program was executed; otherwise Exit and Signal are empty: they never describe
	// the stage.
	results.Process

	Processes int64 // Limits.Processes if it was enforced, else 0
	Seen      Seen  // the process as it found itself just before execve
	Daemon    results.Daemon
}

// Seen is what the stage read back just before it became the benchmark.
type Seen struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Groups []int  `json:"groups"`
	Nice   int    `json:"nice"`
	Policy string `json:"policy"` // scheduling policy, such as "SCHED_OTHER"; empty where unknown
	CPUs   []int  `json:"cpus"`   // nil where unknown
	// Soft limits in bytes (for Files a number of descriptors, for Processes one of processes and
	// threads); -1 means unlimited.
	Heap      int64 `json:"heap"`
	Stack     int64 `json:"stack"`
	Core      int64 `json:"core"`
	Files     int64 `json:"files"`
	Processes int64 `json:"processes"`
}
