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
 * The functions of Ruby's C interface that it needs are declared here, so that it
 * builds without Ruby's headers and one file works with all versions: all of them
 * export these functions, represent an Integer n of a machine word's size less one
 * bit as 2n+1, and false as 0.
 */
typedef unsigned long VALUE;
typedef unsigned long ID;
typedef void (*method)(void); /* of any type: Ruby calls it with self and as many VALUEs as it is told */

extern VALUE rb_define_module(const char *name);
extern void rb_define_singleton_method(VALUE object, const char *name, method function, int arguments);
extern VALUE rb_funcallv(VALUE object, ID name, int count, const VALUE *arguments);
extern ID rb_intern(const char *name);
extern unsigned long rb_num2ulong(VALUE number);

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

/* Init_krunruby is called by Ruby when it has loaded krunruby.so. */
void Init_krunruby(void)
{
	rb_define_singleton_method(rb_define_module("KrunRunner"), "hasten", (method)hasten, 3);
}
