/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of this host that connections are made from (--bind). Each has its own local ports, so
 * more addresses allow more connections to a server.
 */
#ifndef HOSTLAT_LOAD_SOURCES_H
#define HOSTLAT_LOAD_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "net/address.h"

#define SOURCES_MAX 64
#define SOURCES_TAKES "addresses of this host, separated by commas, such as 10.0.0.1,10.0.0.2"

struct sources {
	struct source_list {
		struct net_address list[SOURCES_MAX];
		uint32_t n;
	} v4, v6;
};

/*
 * Parses the text of --bind; `text` is NULL without it. Returns 0, or -EINVAL with a sentence in
 * `why`.
 */
int sources_parse(const char *text, struct sources *out, struct strbuf *why);

/*
 * Checks that this host has the addresses. `any`: removes the addresses that it has not, and one is
 * enough. Returns 0, or -errno with a sentence in `why`.
 */
int sources_check(struct sources *sources, bool any, struct strbuf *why);

/*
 * Returns an address of this family in turn, `turn` from 0; NULL: the kernel chooses, or --bind has
 * no address of the family.
 */
const struct net_address *sources_at(const struct sources *sources, int family, uint32_t turn);

/* Whether connections to addresses of this family are possible: one to bind to, or no --bind. */
bool sources_reach(const struct sources *sources, int family);

/* Returns the number of addresses. */
uint32_t sources_count(const struct sources *sources);

#endif
