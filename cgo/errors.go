package libkrun

import "strconv"

// Error is a KRUN_E code of krun.h: negative, or 0 for no error. The texts are
// those of krun_strerror.
type Error int

// The codes, in the order of krun.h.
const (
	OK       Error = 0
	EINVAL   Error = -1
	EENV     Error = -2
	EMAP     Error = -3
	EMAGIC   Error = -4
	EVERSION Error = -5
	ELAYOUT  Error = -6
	EBUSY    Error = -7
	ENOMEM   Error = -8
	ECLOCK   Error = -9
	EFULL    Error = -10
	EORDER   Error = -11
	EDONE    Error = -12
	EREAD    Error = -13
	EPART    Error = -14
	ECHILD   Error = -15
	ELOST    Error = -16
	ETHREAD  Error = -17
)

// Error explains the code.
func (e Error) Error() string {
	texts := [...]string{
		"no error",
		"invalid argument: null handle, bad name or unit, or no such column",
		"KRUN_BUFFER_FD or KRUN_ITERATIONS is not a number in range",
		"the descriptor in KRUN_BUFFER_FD cannot be mapped; was it closed before krun_init?",
		"the descriptor in KRUN_BUFFER_FD is not a krun buffer",
		"the buffer was made for another version of libkrun or another clock; " +
			"install krund and libkrun together",
		"the buffer's header contradicts itself",
		"the buffer is already in use; call krun_init once per process execution",
		"out of memory",
		"the clock does not work",
		"all planned iterations are done, or no column or event slot is left; " +
			"ask krun_should_stop before krun_begin",
		"krun_begin and krun_end do not alternate, or a column was touched at the wrong moment",
		"krun_done was called before",
		"a processor counter could not be read; krunctl check says which can be",
		"a processor counter did not count all the time: something else uses the same hardware",
		"the handle belongs to the process that this one was forked from; " +
			"call krun_init in the process that measures",
		"a counter's descriptor was closed or replaced; " +
			"the benchmark must not close descriptors it did not open",
		"the iterations ran in another thread than the process's first, " +
			"the only one whose counter rdpmc reads; use perf",
	}
	if !e.known() {
		return "unknown error " + strconv.Itoa(int(e))
	}
	return texts[-e]
}

// known reports whether the code is one of krun.h.
func (e Error) known() bool { return e <= OK && e >= ETHREAD }
