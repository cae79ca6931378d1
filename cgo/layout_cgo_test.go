//go:build cgo

package libkrun

import (
	"testing"

	"krund/rig/must"
)

// TestLayout compares the numbers of layout.go with those of layout.h.
func TestLayout(t *testing.T) {
	want := map[string]int64{
		"KRUN_LAYOUT_VERSION":   layoutVersion,
		"KRUN_LAYOUT_FIRST":     layoutFirst,
		"KRUN_MAX_EVENTS":       maxEvents,
		"KRUN_SLOT_BYTES":       slotBytes,
		"KRUN_EVENT_NAME_BYTES": eventNameBytes,
		"KRUN_EVENT_NAMES":      eventNames,
		"KRUN_NAME_NONE":        nameNone,
		"KRUN_NAME_OTHER":       nameOther,
		"KRUN_NAME_READY":       nameReady,
		"KRUN_EVENT_GC":         int64(EventGC),
		"KRUN_EVENT_COMPILE":    int64(EventCompile),
		"KRUN_EVENT_DEOPT":      int64(EventDeopt),
		"KRUN_EVENT_CODE":       int64(EventCode),
		"KRUN_EVENT_LOAD":       int64(EventLoad),
		"KRUN_EVENT_PAUSE":      int64(EventPause),
		"KRUN_EVENT_MARK":       int64(EventMark),
		"KRUN_EVENT_SWITCH":     int64(EventSwitch),
		"KRUN_EVENT_IRQ":        int64(EventIRQ),
		"KRUN_EVENT_FAULT":      int64(EventFault),
		"KRUN_EVENT_SMI":        int64(EventSMI),
		"plan.events":           planEvents,
		"plan.hold":             planHold,
		"KRUN_MAX_HOLD":         maxHold,
		"event_count.next":      eventCountNext,
		"slot.kind":             slotKind,
		"slot.name":             slotName,
		"slot.time_ns":          slotTime,
		"slot.duration_ns":      slotDuration,
		"slot.argument":         slotArgument,
		"event_name.state":      eventNameState,
		"event_name.text":       eventNameText,
		"event_name":            eventNameSize,
		"KRUN_LINE":             lineBytes,
		"KRUN_DATA_ALIGN":       dataAlign,
		"KRUN_HEADER_BYTES":     headerBytes,
		"KRUN_ENTRY_BYTES":      entryBytes,
		"KRUN_NAME_BYTES":       nameBytes,
		"KRUN_UNIT_BYTES":       unitBytes,
		"KRUN_MAX_ITERATIONS":   maxIterations,
		"KRUN_MAX_COUNTERS":     maxCounters,
		"KRUN_MAX_USER_COLUMNS": maxUserColumns,
		"KRUN_CLOCK_KIND":       clockKind,
		"KRUN_STATE_NEW":        int64(StateNew),
		"KRUN_STATE_READY":      int64(StateReady),
		"KRUN_STATE_DONE":       int64(StateDone),
		"KRUN_COLUMN_FREE":      kindFree,
		"KRUN_COLUMN_COUNTER":   kindCounter,
		"KRUN_COLUMN_USER":      kindUser,
		"KRUN_MISSING":          Missing,
		"KRUN_EPART":            int64(EPART),
		"KRUN_ECHILD":           int64(ECHILD),
		"KRUN_ELOST":            int64(ELOST),
		"KRUN_ETHREAD":          int64(ETHREAD),
		"KRUN_MAX_GROUP":        maxGroup,
		"KRUN_SOURCE_NONE":      0,
		"KRUN_SOURCE_PERF":      int64(SourcePerf),
		"KRUN_SOURCE_REGISTERS": int64(SourceRegisters),
		"KRUN_SCOPE_ITERATION":  int64(PerIteration),
		"KRUN_EMPTY":            -(1<<63 - emptyAsked%(1<<63)),
		"KRUN_SCOPE_EXECUTION":  int64(PerExecution),
		"KRUN_GROUP_PARTIAL":    flagPartial,
		"KRUN_SOURCE_SELF":      int64(SourceSelf),
		"KRUN_SOURCE_USAGE":     int64(SourceUsage),
		"KRUN_USAGE_COLUMNS":    int64(len(UsageColumns())),
		"KRUN_GROUP_EVENT":      flagEvent,
		"plan.scope":            planScope,
		"entry.group":           entryGroup,
		"entry.source":          entrySource,
		"entry.flags":           entryFlags,
		"entry.turn":            entryTurn,
		"entry.bits":            entryBits,
		"entry.fd":              entryFD,
		"entry.address":         entryAddress,
		"entry.device":          entryDevice,
		"entry.inode":           entryInode,
		"entry.total":           entryTotal,
		"plan.magic":            0,
		"plan.version":          planVersion,
		"plan.header_bytes":     planHeaderBytes,
		"plan.bytes":            planBytes,
		"plan.iterations":       planIterations,
		"plan.counters":         planCounters,
		"plan.user_columns":     planUserColumns,
		"plan.entry_bytes":      planEntryBytes,
		"plan.start_offset":     planStartOffset,
		"plan.wall_offset":      planWallOffset,
		"plan.clock":            planClock,
		"control":               planEnd,
		"control.stop":          controlStop,
		"control.exec_ns":       controlExec,
		"progress.state":        progressState,
		"progress.error":        progressError,
		"progress.pid":          progressPid,
		"progress.init_ns":      progressInit,
		"progress.done_ns":      progressDone,
		"hot.begun.tv_sec":      hotBegunSeconds,
		"hot.begun.tv_nsec":     hotBegunNanos,
		"hot.done":              hotDone,
		"entry.kind":            entryKind,
		"entry.core":            entryCore,
		"entry.offset":          entryOffset,
		"entry.name":            entryName,
		"entry.unit":            entryUnit,
	}
	got := cNumbers()
	for name, w := range want {
		g, ok := got[name]
		must.Be(t, ok && g == w, name, "C has", g, ok, "Go", w)
	}
	for name, g := range got {
		_, ok := want[name]
		must.Be(t, ok, name, g, "is not compared")
	}
}

// TestPlaces compares the two computations of the layout.
func TestPlaces(t *testing.T) {
	for _, iterations := range []int{1, 7, 8, 9, 511, 512, 513, 2000, maxIterations} {
		for _, columns := range []int{0, 1, 28, 29, 64, 1000, maxCounters + maxUserColumns} {
			for _, events := range []int{0, 1, 2, 3, maxEvents} {
				c, g := cPlaces(iterations, columns, events), place(iterations, columns, events)
				must.Equal(t, c, g, iterations, "iterations", columns, "columns", events, "events: C", "Go")
			}
		}
	}
}

// TestErrorTexts compares Error with krun_strerror, and checks that no two codes
// share a text.
func TestErrorTexts(t *testing.T) {
	seen := make(map[string]Error)
	for e := OK; e >= ETHREAD; e-- {
		must.Equal(t, cErrorText(int(e)), e.Error(), "code", e, "C says", "Go")
		other, ok := seen[e.Error()]
		must.Be(t, !ok, "codes", e, "and", other, "have the text", e.Error())
		seen[e.Error()] = e
	}
	for _, e := range []int{1, int(ETHREAD) - 1} {
		must.Equal(t, cErrorText(e), "unknown error", "code", "C")
	}
	must.Equal(t, (ETHREAD - 1).Error(), "unknown error -18", "code", ETHREAD-1, "Go")
}

// TestClock checks that both sides read one clock.
func TestClock(t *testing.T) {
	first := Now()
	middle := cNow()
	last := Now()
	must.Be(t, first > 0 && middle >= first && last >= middle, "stamps", first, "Go", middle, "C", last,
		"Go) are not in order")
}
