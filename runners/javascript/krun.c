/*
 * krun.c - libkrun for Node: the addon krun.node, which runner.js loads.
 *
 *	version()      KRUN_VERSION, an integer
 *	init()         undefined, or the error's code
 *	shouldStop()   a boolean
 *	iterations()   the number of planned iterations
 *	begin()        undefined, always: end reports its error
 *	end()          undefined, or the error's code
 *	done()         undefined, or the error's code
 *	strerror(code) a string
 *
 * When KRUN_INSTRUMENT is set, there are those of instrument.c, too.
 *
 * Success is undefined because that is the result of a function that creates no
 * value: begin and end call no function of Node.
 */
#include <stdlib.h>

#include "napi.h"

/* The symbol that Node looks for in an addon. */
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

/*
 * The process's handle. It is not stored in a JavaScript object, because begin and
 * end would have to fetch it from there while measuring.
 */
krun *krun_handle;

/* outcome returns undefined for success, else the code. */
static napi_value outcome(napi_env env, int code)
{
	napi_value value = NULL;

	if (code)
		(void)napi_create_int32(env, code, &value);
	return value;
}

static napi_value version(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_create_int32(env, krun_version(), &value);
	return value;
}

static napi_value init(napi_env env, napi_callback_info info)
{
	(void)info;
	return outcome(env, krun_handle ? KRUN_EBUSY : krun_init(&krun_handle));
}

static napi_value should_stop(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_get_boolean(env, krun_should_stop(krun_handle), &value);
	return value;
}

static napi_value begin(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	(void)krun_begin(krun_handle);
	return NULL;
}

static napi_value end(napi_env env, napi_callback_info info)
{
	int code = krun_end(krun_handle);

	(void)info;
	return outcome(env, code);
}

static napi_value done(napi_env env, napi_callback_info info)
{
	(void)info;
	return outcome(env, krun_done(krun_handle));
}

/* input() returns the input of the iteration that begins next. */
static napi_value input(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_create_int32(env, krun_input(krun_handle), &value);
	return value;
}

/* column(name, unit) returns the index of a new column, as a number. */
static napi_value column(napi_env env, napi_callback_info info)
{
	napi_value arguments[2] = { NULL, NULL }, value = NULL;
	size_t count = 2;
	char name[64] = "", unit[32] = "";

	(void)napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
	(void)napi_get_value_string_utf8(env, arguments[0], name, sizeof name, NULL);
	(void)napi_get_value_string_utf8(env, arguments[1], unit, sizeof unit, NULL);
	(void)napi_create_int32(env, krun_column(krun_handle, name, unit), &value);
	return value;
}

/* iterations() is the number of planned iterations. */
static napi_value iterations(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_create_int32(env, krun_iterations(krun_handle), &value);
	return value;
}

/* set(index, value) sets a column of the iteration that ended last; the value is a number. */
static napi_value set(napi_env env, napi_callback_info info)
{
	napi_value arguments[2] = { NULL, NULL };
	size_t count = 2;
	int32_t index = -1;
	int64_t value = KRUN_MISSING;

	(void)napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
	(void)napi_get_value_int32(env, arguments[0], &index);
	(void)napi_get_value_int64(env, arguments[1], &value);
	(void)krun_set(krun_handle, index, value);
	return NULL;
}

static napi_value explain(napi_env env, napi_callback_info info)
{
	napi_value argument = NULL, value = NULL;
	size_t count = 1;
	int32_t code = 0;

	(void)napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
	(void)napi_get_value_int32(env, argument, &code);
	(void)napi_create_string_utf8(env, krun_strerror(code), NAPI_AUTO_LENGTH, &value);
	return value;
}

/* add makes a function a property of the addon, and reports whether Node accepted it. */
static bool add(napi_env env, napi_value exports, const struct function *f)
{
	napi_value function = NULL;

	return napi_create_function(env, f->name, NAPI_AUTO_LENGTH, f->callback, NULL, &function) == napi_ok &&
	       napi_set_named_property(env, exports, f->name, function) == napi_ok;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct function always[] = {
		{ "version", version }, { "init", init }, { "shouldStop", should_stop }, { "begin", begin },
		{ "end", end }, { "done", done }, { "strerror", explain }, { "column", column }, { "set", set },
		{ "input", input }, { "iterations", iterations }, { NULL, NULL },
	};
	const struct function *f;
	bool accepted = true;

	for (f = always; f->name; f++)
		accepted = accepted && add(env, exports, f);
	for (f = krun_instrument; f->name && getenv("KRUN_INSTRUMENT"); f++)
		accepted = accepted && add(env, exports, f);
	if (!accepted)
		(void)napi_throw_error(env, NULL, "Node refused the functions of krun.node");
	return accepted ? exports : NULL;
}
