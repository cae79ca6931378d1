/*
 * krun.c - libkrun's calls of an iteration as methods of CRuby.
 *
 * Fiddle takes a quarter of a microsecond before and after a C function, half of
 * that between the readings of the clock. A method written in C takes some
 * nanoseconds. This extension overrides the method call of the three
 * Fiddle::Function objects that runner.rb uses in its loop:
 *
 *	KrunRunner.hasten(should_stop, start, stop)
 *
 * For KRUN_INSTRUMENT=events it reports garbage collections, which Ruby's own
 * methods cannot, to krun_event:
 *
 *	KrunRunner.watch_gc(krun_now_ns, krun_event, handle)
 *
 * The functions of Ruby's C interface that it needs are declared here, so that it
 * builds without Ruby's headers and one file works with all versions: all of them
 * export these functions, represent an Integer n of a machine word's size less one
 * bit as 2n+1, and false as 0.
 */
#include <stdint.h>

typedef unsigned long VALUE;
typedef unsigned long ID;
typedef void (*method)(void); /* of any type: Ruby calls it with self and as many VALUEs as it is told */

extern VALUE rb_define_module(const char *name);
extern void rb_define_singleton_method(VALUE object, const char *name, method function, int arguments);
extern VALUE rb_funcallv(VALUE object, ID name, int count, const VALUE *arguments);
extern ID rb_intern(const char *name);
extern unsigned long rb_num2ulong(VALUE number);
extern VALUE rb_id2sym(ID name);
extern void rb_gc_register_address(VALUE *variable);
extern VALUE rb_gc_latest_gc_info(VALUE key);
extern VALUE rb_tracepoint_new(VALUE thread, uint32_t events, void (*function)(VALUE, void *), void *data);
extern VALUE rb_tracepoint_enable(VALUE tracepoint);
extern void *rb_tracearg_from_tracepoint(VALUE tracepoint);
extern uint32_t rb_tracearg_event_flag(void *arguments);

void Init_krunruby(void);

static int (*should_stop)(const void *);
static int (*start)(void *);
static int (*stop)(void *);

static VALUE number(int n)
{
	return (VALUE)n * 2 + 1;
}

static void *handle(VALUE number)
{
	return (void *)(number & 1 ? number >> 1 : rb_num2ulong(number));
}

static VALUE call_should_stop(VALUE self, VALUE k)
{
	(void)self;
	return number(should_stop(handle(k)));
}

static VALUE call_start(VALUE self, VALUE k)
{
	(void)self;
	(void)start(handle(k)); /* krun_end reports its error too, outside the measurement */
	return 0;
}

static VALUE call_stop(VALUE self, VALUE k)
{
	(void)self;
	return number(stop(handle(k)));
}

/* address returns the address of the C function of a Fiddle::Function. */
static void *address(VALUE function)
{
	return (void *)rb_num2ulong(rb_funcallv(function, rb_intern("to_i"), 0, 0));
}

static VALUE hasten(VALUE self, VALUE fiddle_should_stop, VALUE fiddle_start, VALUE fiddle_stop)
{
	*(void **)&should_stop = address(fiddle_should_stop); /* as POSIX shows it for dlsym */
	*(void **)&start = address(fiddle_start);
	*(void **)&stop = address(fiddle_stop);
	rb_define_singleton_method(fiddle_should_stop, "call", (method)call_should_stop, 1);
	rb_define_singleton_method(fiddle_start, "call", (method)call_start, 1);
	rb_define_singleton_method(fiddle_stop, "call", (method)call_stop, 1);
	return self;
}

/* Events of Ruby's collector, from ruby/debug.h. It is entered for each of its steps. */
enum {
	GC_START = 0x400000, /* in a step that marks */
	GC_ENTER = 0x2000000,
	GC_EXIT = 0x4000000
};

/* Shorter sweeps, in ns, are no events: an iteration that creates many objects has dozens. */
#define SHORT_SWEEP 10000

static int64_t (*now)(void);
static int (*event)(void *, int, int64_t, int64_t, int64_t, const char *);
static void *krun;
static VALUE major_by; /* the symbol */

/* on_gc is called by Ruby. It may not create objects. */
static void on_gc(VALUE tracepoint, void *data)
{
	static int64_t began;
	static const char *kind; /* null for a step that only sweeps */
	int64_t duration;

	(void)data;
	switch (rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint))) {
	case GC_ENTER:
		kind = 0;
		began = now();
		break;
	case GC_START:
		/* It is major by some reason, a symbol, or by nil, which is a small number. */
		kind = rb_gc_latest_gc_info(major_by) > 0xff ? "major" : "minor";
		break;
	case GC_EXIT:
		duration = now() - began;
		if (kind || duration >= SHORT_SWEEP)
			event(krun, 1 /* KRUN_EVENT_GC */, began, duration, INT64_MIN /* KRUN_MISSING */,
			      kind ? kind : "sweep");
	}
}

static VALUE watch_gc(VALUE self, VALUE fiddle_now, VALUE fiddle_event, VALUE k)
{
	static VALUE tracepoint;

	rb_gc_register_address(&tracepoint);
	*(void **)&now = address(fiddle_now);
	*(void **)&event = address(fiddle_event);
	krun = handle(k);
	major_by = rb_id2sym(rb_intern("major_by"));
	rb_gc_latest_gc_info(major_by); /* creates its symbols, which it could not in a collection */
	tracepoint = rb_tracepoint_new(0, GC_START | GC_ENTER | GC_EXIT, on_gc, 0);
	rb_tracepoint_enable(tracepoint);
	return self;
}

/* Init_krunruby is called by Ruby when it has loaded krunruby.so. */
void Init_krunruby(void)
{
	rb_define_singleton_method(rb_define_module("KrunRunner"), "hasten", (method)hasten, 3);
	rb_define_singleton_method(rb_define_module("KrunRunner"), "watch_gc", (method)watch_gc, 3);
}
