/*
 * krun.c - libkrun for KrunRunner.java: its native methods, with the names that
 * the Java Native Interface prescribes. libkrun is linked in.
 *
 * Static methods with numeric arguments and results never use the two pointers
 * that the VM passes first, so jni.h is not needed: a jint is an int32_t, a jlong
 * an int64_t. A handle is passed as a number.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "krun.h"

#define NATIVE(type, name) __attribute__((visibility("default"))) type Java_KrunRunner_##name
#define VM void *env, void *class
#define UNUSED ((void)env, (void)class)

NATIVE(int32_t, version)(VM);
NATIVE(int64_t, init)(VM);
NATIVE(int32_t, instrument)(VM);
NATIVE(int32_t, shouldStop)(VM, int64_t k);
NATIVE(void, begin)(VM, int64_t k);
NATIVE(int32_t, end)(VM, int64_t k);
NATIVE(int32_t, done)(VM, int64_t k);
NATIVE(int32_t, iterations)(VM, int64_t k);
NATIVE(int32_t, suiteColumn)(VM, int64_t k);
NATIVE(void, set)(VM, int64_t k, int32_t column, int64_t value);
NATIVE(int32_t, explanation)(VM, int32_t code, int32_t i);
NATIVE(void, halt)(VM, int32_t status);

static krun *handle(int64_t k)
{
	return (krun *)(intptr_t)k;
}

NATIVE(int32_t, version)(VM)
{
	UNUSED;
	return krun_version();
}

/* init returns the handle, or an error of libkrun, which is negative, unlike addresses. */
NATIVE(int64_t, init)(VM)
{
	krun *k;
	int err = krun_init(&k);

	UNUSED;
	return err ? err : (int64_t)(intptr_t)k;
}

/* instrument returns what KRUN_INSTRUMENT asks for: 0 nothing, 1 columns, 2 columns and events. */
NATIVE(int32_t, instrument)(VM)
{
	const char *asked = getenv("KRUN_INSTRUMENT");

	UNUSED;
	if (!asked)
		return 0;
	return !strcmp(asked, "events") ? 2 : !strcmp(asked, "columns");
}

NATIVE(int32_t, shouldStop)(VM, int64_t k)
{
	UNUSED;
	return krun_should_stop(handle(k));
}

NATIVE(void, begin)(VM, int64_t k)
{
	UNUSED;
	(void)krun_begin(handle(k)); /* krun_end reports its error too, outside the measurement */
}

NATIVE(int32_t, end)(VM, int64_t k)
{
	UNUSED;
	return krun_end(handle(k));
}

NATIVE(int32_t, done)(VM, int64_t k)
{
	UNUSED;
	return krun_done(handle(k));
}

NATIVE(int32_t, iterations)(VM, int64_t k)
{
	UNUSED;
	return krun_iterations(handle(k));
}

/* suiteColumn names the column of the times that a suite measured itself. */
NATIVE(int32_t, suiteColumn)(VM, int64_t k)
{
	UNUSED;
	return krun_column(handle(k), "suite_time", "ns");
}

NATIVE(void, set)(VM, int64_t k, int32_t column, int64_t value)
{
	UNUSED;
	(void)krun_set(handle(k), column, value);
}

/*
 * explanation returns character i of a code's explanation, 0 after its end: returning a string
 * would need jni.h.
 */
NATIVE(int32_t, explanation)(VM, int32_t code, int32_t i)
{
	const char *text = krun_strerror(code);

	UNUSED;
	return i >= 0 && (size_t)i < strlen(text) ? text[i] : 0;
}

/*
 * halt is for a VM without memory. It is called with 0 earlier, because the VM could not resolve it
 * then.
 */
NATIVE(void, halt)(VM, int32_t status)
{
	UNUSED;
	if (status)
		_exit(status);
}
