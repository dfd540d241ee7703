/* SPDX-License-Identifier: Apache-2.0 */
/* Which host has an address: single addresses, or prefixes such as 10.1.0.0/16; longest wins. */
#ifndef HOSTLAT_FLEET_ADDRESSES_H
#define HOSTLAT_FLEET_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define ADDRESSES_MAX 4000000u
#define ADDRESSES_NONE UINT32_MAX /* no host, or several */

struct fleet_address {
	uint8_t bytes[16];       /* network order; IPv4 in the first 4; bits behind the prefix 0 */
	uint16_t family;         /* AF_INET or AF_INET6 */
	uint16_t bits;           /* length of the prefix */
};

struct address_entry {
	struct fleet_address prefix;
	uint32_t host;
	uint32_t next;           /* hash chain: index + 1 */
};

struct fleet_addresses {
	struct address_entries VEC_OF(struct address_entry) entries;
	uint32_t *slots;         /* index + 1 */
	size_t n_slots;
	bool bits[2][129];       /* lengths of prefixes that exist: IPv4, IPv6 */
	uint64_t shared;         /* prefixes of several hosts */
};

void addresses_init(struct fleet_addresses *a);
void addresses_release(struct fleet_addresses *a);

/*
 * Parses "10.0.0.1", "10.0.0.0/8", "fd00::/16". Returns 0, or -EINVAL, also if bits are set behind
 * the prefix.
 */
int addresses_parse(const char *text, struct fleet_address *out);

/* Returns the address with all its bits; `bytes`: 4 for AF_INET, else 16. */
struct fleet_address addresses_whole(uint16_t family, const uint8_t *bytes);

/* Returns whether an address means another host everywhere: loopback, link-local, unspecified. */
bool addresses_is_local(const struct fleet_address *address);

/*
 * Adds a prefix of a host. Returns 0, -ENOMEM, -E2BIG, or -EEXIST and *other if another host has
 * it, which from now on is nobody's with `ambiguous`.
 */
int addresses_add(struct fleet_addresses *a, const struct fleet_address *prefix, uint32_t host,
		  bool ambiguous, uint32_t *other);

/* Returns the host with the longest prefix of the address, or ADDRESSES_NONE. */
uint32_t addresses_find(const struct fleet_addresses *a, const struct fleet_address *address);

#endif
