package watcher

import (
	"errors"
	"os"
	"time"

	"krund/internal/durable/trust"
)

// Command is the name of krunctl's command that Start runs.
const Command = "watch-iterations"

// The descriptors that the command gets beside the standard ones.
const (
	BufferFD   = 3
	TerminalFD = 4 // /dev/null if nothing is shown
)

// Options are the parameters of Start.
type Options struct {
	Program    string                    // absolute path of krunctl
	Trust      func(trust.Verdict) error // judges that path if krund is root; nil accepts everything
	CPU        int                       // the processor that the watcher is bound to
	Buffer     *os.File                  // the shared buffer
	Iterations int                       // planned
	Terminal   *os.File                  // nil if Order.Line is
	Order      Order
}

// ErrUnsupported is the error of Start where processes cannot be bound to a processor.
var ErrUnsupported = errors.New("this system cannot bind a process to a processor")

const (
	startTime = 10 * time.Second // until the watcher has mapped the buffer; it takes milliseconds
	endTime   = 10 * time.Second // for its last report: it evaluates what it has not seen yet
)

// unprivileged is the user and the group that the watcher of root runs as: the kernel's overflow
// UID, which owns nothing.
const unprivileged = 65534
