/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, loaded when a store needs it: hostlat itself is one file, and libcurl has no archive
 * with all that it depends on.
 */
#ifndef HOSTLAT_STORE_LIBCURL_H
#define HOSTLAT_STORE_LIBCURL_H

#include <curl/curl.h>

#include "base/strbuf.h"

/* Functions of libcurl, by their names without "curl_" and "easy_". */
struct libcurl {
	CURLcode (*global_init)(long flags);
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
	void (*cleanup)(CURL *handle);
	char *(*escape)(CURL *handle, const char *text, int size);
	void (*free)(void *memory);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	const char *(*strerror)(CURLcode code);
};

/*
 * Loads libcurl once. Returns 0, or -ELIBACC after a sentence in *why. Not for several threads at
 * once.
 */
int libcurl_load(const struct libcurl **out, struct strbuf *why);

#endif
