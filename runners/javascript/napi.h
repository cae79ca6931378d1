/*
 * napi.h - the functions of Node-API that krun.node uses, declared according to its
 * documentation: it is a stable binary interface of Node's executable, so no
 * header of Node is needed. All of them exist since Node-API version 1, Node 8.
 */
#ifndef NAPI_H
#define NAPI_H

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
napi_status napi_create_int64(napi_env env, int64_t value, napi_value *result);
napi_status napi_get_value_int32(napi_env env, napi_value value, int32_t *result);
napi_status napi_get_value_int64(napi_env env, napi_value value, int64_t *result);
napi_status napi_get_value_string_utf8(napi_env env, napi_value value, char *text, size_t size,
				       size_t *length);
napi_status napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);
napi_status napi_throw_error(napi_env env, const char *code, const char *message);

#define NAPI_AUTO_LENGTH SIZE_MAX

/* A function of the addon. */
struct function {
	const char *name;
	napi_callback callback;
};

/*
 * krun_instrument are the functions that the addon has only when KRUN_INSTRUMENT is set; the last
 * one has no name. They use krun_handle, the process's handle.
 */
extern const struct function krun_instrument[];
extern krun *krun_handle;

#endif
