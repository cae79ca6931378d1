/*
 * krun.c - libkrun for Node: the addon krun.node, which runner.js loads.
 *
 *	version()      KRUN_VERSION, an integer
 *	init()         undefined, or the error's code
 *	shouldStop()   a boolean
 *	begin()        undefined, always: end reports its error
 *	end()          undefined, or the error's code
 *	done()         undefined, or the error's code
 *	strerror(code) a string
 *
 * Success is undefined because that is the result of a function that creates no
 * value: begin and end call no function of Node.
 *
 * The functions of Node-API that are used are declared here, according to its
 * documentation: it is a stable binary interface of Node's executable, so no
 * header of Node is needed. All of them exist since Node-API version 1, Node 8.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "krun.h"

typedef enum { napi_ok } napi_status; /* other values are errors */
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);

napi_status napi_create_function(napi_env env, const char *name, size_t length, napi_callback callback,
				 void *data, napi_value *result);
napi_status napi_create_int32(napi_env env, int32_t value, napi_value *result);
napi_status napi_create_string_utf8(napi_env env, const char *text, size_t length, napi_value *result);
napi_status napi_get_boolean(napi_env env, bool value, napi_value *result);
napi_status napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv,
			     napi_value *that, void **data);
napi_status napi_get_value_int32(napi_env env, napi_value value, int32_t *result);
napi_status napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
napi_status napi_throw_error(napi_env env, const char *code, const char *message);

#define NAPI_AUTO_LENGTH SIZE_MAX

/* The symbol that Node looks for in an addon. */
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports);

/*
 * The process's handle. It is not stored in a JavaScript object, because begin and
 * end would have to fetch it from there while measuring.
 */
static krun *handle;

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
	return outcome(env, handle ? KRUN_EBUSY : krun_init(&handle));
}

static napi_value should_stop(napi_env env, napi_callback_info info)
{
	napi_value value = NULL;

	(void)info;
	(void)napi_get_boolean(env, krun_should_stop(handle), &value);
	return value;
}

static napi_value begin(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	(void)krun_begin(handle);
	return NULL;
}

static napi_value end(napi_env env, napi_callback_info info)
{
	int code = krun_end(handle);

	(void)info;
	return outcome(env, code);
}

static napi_value done(napi_env env, napi_callback_info info)
{
	(void)info;
	return outcome(env, krun_done(handle));
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

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	static const struct {
		const char *name;
		napi_callback callback;
	} functions[] = {
		{ "version", version }, { "init", init }, { "shouldStop", should_stop }, { "begin", begin },
		{ "end", end }, { "done", done }, { "strerror", explain },
	};

	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		napi_value function = NULL;

		if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].callback, NULL,
					 &function) != napi_ok ||
		    napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) {
			(void)napi_throw_error(env, NULL, "Node refused the functions of krun.node");
			return NULL;
		}
	}
	return exports;
}
