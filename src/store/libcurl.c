/* SPDX-License-Identifier: Apache-2.0 */
#include "store/libcurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#include "base/bug.h"

#define LIBRARY "libcurl.so.4"

static struct libcurl library;

/* Assigns each function as POSIX's example of dlsym() does, by the address of its pointer. */
static bool libcurl_bind(void *handle)
{
	const struct {
		const char *name;
		void *function;
	} functions[] = {
		{ "curl_global_init", &library.global_init },
		{ "curl_easy_init", &library.init },
		{ "curl_easy_setopt", &library.setopt },
		{ "curl_easy_perform", &library.perform },
		{ "curl_easy_getinfo", &library.getinfo },
		{ "curl_easy_cleanup", &library.cleanup },
		{ "curl_easy_escape", &library.escape },
		{ "curl_free", &library.free },
		{ "curl_slist_append", &library.slist_append },
		{ "curl_slist_free_all", &library.slist_free_all },
		{ "curl_easy_strerror", &library.strerror },
	};

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		*(void **)functions[i].function = dlsym(handle, functions[i].name);
		if (!*(void **)functions[i].function)
			return false;
	}
	return library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

int libcurl_load(const struct libcurl **out, struct strbuf *why)
{
	static bool is_loaded;
	void *handle;

	*out = &library;
	if (is_loaded)
		return 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	is_loaded = handle && libcurl_bind(handle);
	if (is_loaded)
		return 0;
	strbuf_printf(why, "cannot use ClickHouse without libcurl: install libcurl4 (%s)",
		      handle ? LIBRARY " lacks a function" : dlerror());
	return -ELIBACC;
}
