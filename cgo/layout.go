package libkrun

// The numbers of layout.h, which specifies them. TestLayout compares the two.
const (
	magic         = "krunbuf\x00"
	layoutVersion = 4

	layoutUsage  = 3 // without hold
	layoutEvents = 2 // nor usage
	layoutFirst  = 1 // nor events

	lineBytes   = 64
	dataAlign   = 4096
	headerBytes = 512
	entryBytes  = 128
	nameBytes   = 48 // with the final zero
	unitBytes   = 24 // with the final zero

	slotBytes      = 32
	eventNameBytes = 120 // with the final zero
	eventNames     = 4096

	maxIterations  = 1 << 24
	maxCounters    = 8192
	maxUserColumns = 64
	maxGroup       = 16 // columns of one group
	maxEvents      = 1 << 20
	maxHold        = 1_000_000
)

// Offsets in the header.
const (
	planVersion     = 8
	planHeaderBytes = 12
	planBytes       = 16
	planIterations  = 24
	planCounters    = 28
	planUserColumns = 32
	planEntryBytes  = 36
	planStartOffset = 40
	planWallOffset  = 48
	planClock       = 56
	planScope       = 60
	planEvents      = 64
	planHold        = 68
	planEnd         = 128 // what lies before is constant after Create
	controlStop     = 128
	controlExec     = 136
	progressState   = 192
	progressError   = 196
	progressPid     = 200
	progressInit    = 208
	progressDone    = 216
	hotBegunSeconds = 256
	hotBegunNanos   = 264
	hotDone         = 272
	eventCountNext  = 320
	clockRaw        = 1
	clockMonotonic  = 2
	nanosPerSecond  = 1_000_000_000
	stampBytes      = 8
)

// Offsets in a column's entry.
const (
	entryKind    = 0
	entryCore    = 4
	entryOffset  = 8
	entryName    = 16
	entryUnit    = 64
	entryGroup   = 88
	entrySource  = 90
	entryFlags   = 91
	entryTurn    = 92
	entryBits    = 93
	entryFD      = 96
	entryAddress = 100
	entryDevice  = 104
	entryInode   = 112
	entryTotal   = 120
)

// Offsets in an event's slot.
const (
	slotKind     = 0
	slotName     = 4
	slotTime     = 8
	slotDuration = 16
	slotArgument = 24
)

// Values of a slot's name that are no index in the table.
const (
	nameNone  = 1<<32 - 1 // no name was given
	nameOther = 1<<32 - 2 // the table had no room for it
)

// Offsets in an event's name, and its states.
const (
	eventNameState = 0
	eventNameText  = 8
	eventNameSize  = eventNameText + eventNameBytes
	nameReady      = 2
)

// Kinds of an entry.
const (
	kindFree    = 0
	kindCounter = 1
	kindUser    = 2
)

// flagPartial marks a perf group that may count only part of the time.
const flagPartial = 1

// flagEvent marks a group that is known by the number of its perf event.
const flagEvent = 2

// places are the offsets that follow from a plan, counted in bytes from the
// start of the buffer; the same computation as krun_place in layout.h.
type places struct {
	start, wall, column int64
	stride              int64 // from one array to the next
	slots, names        int64 // of events
	bytes               int64
}

// place computes the layout for a number of iterations, of columns, counter and
// user ones together, and of events.
func place(iterations, columns, events int) places {
	var p places
	p.stride = roundUp(int64(iterations)*stampBytes, lineBytes)
	p.start = roundUp(headerBytes+int64(columns)*entryBytes, dataAlign)
	p.wall = p.start + p.stride
	p.column = p.wall + p.stride
	p.slots = p.column + int64(columns)*p.stride
	p.names = p.slots + roundUp(int64(events)*slotBytes, lineBytes)
	p.bytes = p.names
	if events > 0 {
		p.bytes += eventNames * eventNameSize
	}
	return p
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }
