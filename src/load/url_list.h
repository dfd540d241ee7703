/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URLs of a run, from the command line or from a file (--urls): one URL per line, with an
 * optional weight after a blank. Lines that are empty or begin with # are skipped.
 *
 * URLs of one HTTP server that differ only in their paths are one target: each of its connections
 * sends requests of all these URLs. Other URLs are a target each.
 */
#ifndef HOSTLAT_LOAD_URL_LIST_H
#define HOSTLAT_LOAD_URL_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/config.h"

#define URL_LIST_MAX 10000

struct url_list {
	struct url_entry {
		const char *url;
		double weight;    /* > 0; 1 unless the file says otherwise */
		uint32_t target;  /* index in `targets` */
	} *items;
	uint32_t n;
	struct url_target {
		const char *url;  /* the first of its URLs */
		double weight;    /* sum of the weights of its URLs */
		uint32_t n_urls;
	} targets[LOAD_TARGETS_MAX];
	uint32_t n_targets;
	char *text;               /* owned: the file, to which the items point; NULL: none */
};

/*
 * Makes the list of `n` URLs, or of those in `file` if it is not NULL. The strings are borrowed.
 * Returns 0, -EINVAL or a file's error, with a sentence in `why`. After an error the caller still
 * calls url_list_release().
 */
int url_list_make(struct url_list *list, const char *const *urls, uint32_t n, const char *file,
		  struct strbuf *why);

void url_list_release(struct url_list *list);

/* Writes the URL of a target, without the path if it has several. */
void url_list_put_target(const struct url_list *list, uint32_t target, struct strbuf *out);

#endif
