//go:build cgo

package libkrun

/*
#include <stddef.h>
#include "internal.h"

struct number { const char *name; int64_t value; };

#define N(x) { #x, x }
#define HEADER(x) { #x, offsetof(struct krun_header, x) }
#define ENTRY(x) { "entry." #x, offsetof(struct krun_entry, x) }
#define SLOT(x) { "slot." #x, offsetof(struct krun_slot, x) }
#define EVENT_NAME(x) { "event_name." #x, offsetof(struct krun_event_name, x) }

static const struct number numbers[] = {
	N(KRUN_LAYOUT_VERSION), N(KRUN_LAYOUT_FIRST), N(KRUN_MAX_EVENTS), N(KRUN_SLOT_BYTES),
	N(KRUN_EVENT_NAME_BYTES), N(KRUN_EVENT_NAMES), N(KRUN_NAME_NONE), N(KRUN_NAME_OTHER), N(KRUN_NAME_READY),
	N(KRUN_EVENT_GC), N(KRUN_EVENT_COMPILE), N(KRUN_EVENT_DEOPT), N(KRUN_EVENT_CODE), N(KRUN_EVENT_LOAD),
	N(KRUN_EVENT_PAUSE), N(KRUN_EVENT_MARK), N(KRUN_EVENT_SWITCH), N(KRUN_EVENT_IRQ), N(KRUN_EVENT_FAULT),
	N(KRUN_EVENT_SMI),
	N(KRUN_LINE), N(KRUN_DATA_ALIGN), N(KRUN_HEADER_BYTES), N(KRUN_ENTRY_BYTES),
	N(KRUN_NAME_BYTES), N(KRUN_UNIT_BYTES),
	N(KRUN_MAX_ITERATIONS), N(KRUN_MAX_COUNTERS), N(KRUN_MAX_USER_COLUMNS),
	N(KRUN_CLOCK_KIND), N(KRUN_STATE_NEW), N(KRUN_STATE_READY), N(KRUN_STATE_DONE),
	N(KRUN_COLUMN_FREE), N(KRUN_COLUMN_COUNTER), N(KRUN_COLUMN_USER), N(KRUN_MISSING),
	N(KRUN_EPART), N(KRUN_ECHILD), N(KRUN_ELOST), N(KRUN_ETHREAD),
	N(KRUN_MAX_GROUP), N(KRUN_SOURCE_NONE), N(KRUN_SOURCE_PERF), N(KRUN_SOURCE_REGISTERS),
	N(KRUN_SCOPE_ITERATION), N(KRUN_SCOPE_EXECUTION), N(KRUN_GROUP_PARTIAL), N(KRUN_SOURCE_SELF),
	N(KRUN_EMPTY),
	N(KRUN_SOURCE_USAGE), N(KRUN_USAGE_COLUMNS),
	N(KRUN_GROUP_EVENT),
	HEADER(plan.magic), HEADER(plan.version), HEADER(plan.header_bytes), HEADER(plan.bytes),
	HEADER(plan.iterations), HEADER(plan.counters), HEADER(plan.user_columns), HEADER(plan.entry_bytes),
	HEADER(plan.start_offset), HEADER(plan.wall_offset), HEADER(plan.clock), HEADER(plan.scope),
	HEADER(plan.events), HEADER(plan.hold), N(KRUN_MAX_HOLD), HEADER(event_count.next),
	SLOT(kind), SLOT(name), SLOT(time_ns), SLOT(duration_ns), SLOT(argument),
	EVENT_NAME(state), EVENT_NAME(text), { "event_name", sizeof(struct krun_event_name) },
	HEADER(control), HEADER(control.stop), HEADER(control.exec_ns),
	HEADER(progress.state), HEADER(progress.error), HEADER(progress.pid),
	HEADER(progress.init_ns), HEADER(progress.done_ns),
	HEADER(hot.begun.tv_sec), HEADER(hot.begun.tv_nsec), HEADER(hot.done),
	ENTRY(kind), ENTRY(core), ENTRY(offset), ENTRY(name), ENTRY(unit),
	ENTRY(group), ENTRY(source), ENTRY(flags), ENTRY(turn), ENTRY(bits), ENTRY(fd),
	ENTRY(address), ENTRY(device), ENTRY(inode),
	ENTRY(total),
};

static int krun_numbers(void) { return sizeof numbers / sizeof numbers[0]; }
static const struct number *krun_number(int i) { return &numbers[i]; }

static void krun_places_of(uint32_t iterations, uint32_t columns, uint32_t events, int64_t out[7])
{
	struct krun_places p = krun_place(iterations, columns, events);

	out[0] = (int64_t)p.start;
	out[1] = (int64_t)p.wall;
	out[2] = (int64_t)p.column;
	out[3] = (int64_t)p.stride;
	out[4] = (int64_t)p.bytes;
	out[5] = (int64_t)p.slots;
	out[6] = (int64_t)p.names;
}
*/
import "C"

// cNumbers are the constants and offsets of layout.h as the C compiler sees
// them, for the test that compares both sides.
func cNumbers() map[string]int64 {
	m := make(map[string]int64)
	for i := range C.krun_numbers() {
		n := C.krun_number(i)
		m[C.GoString(n.name)] = int64(n.value)
	}
	return m
}

// cPlaces is place as layout.h computes it.
func cPlaces(iterations, columns, events int) places {
	var out [7]C.int64_t
	C.krun_places_of(C.uint32_t(iterations), C.uint32_t(columns), C.uint32_t(events), &out[0])
	return places{
		start: int64(out[0]), wall: int64(out[1]), column: int64(out[2]), stride: int64(out[3]),
		bytes: int64(out[4]), slots: int64(out[5]), names: int64(out[6]),
	}
}

// cErrorText is krun_strerror.
func cErrorText(code int) string { return C.GoString(C.krun_strerror(C.int(code))) }

// cNow is krun_now_ns.
func cNow() int64 { return int64(C.krun_now_ns()) }
