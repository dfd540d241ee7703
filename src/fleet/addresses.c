/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"

#define FIRST_SLOTS 256u
#define ADDRESS_TEXT_MAX 64u

void addresses_init(struct fleet_addresses *a)
{
	*a = (struct fleet_addresses){ 0 };
	vec_init(&a->entries, ADDRESSES_MAX);
}

void addresses_release(struct fleet_addresses *a)
{
	vec_release(&a->entries);
	free(a->slots);
	*a = (struct fleet_addresses){ 0 };
}

/* ---- addresses ---- */

static unsigned int addresses_length(uint16_t family)
{
	return family == AF_INET ? 32 : 128;
}

static void addresses_mask(struct fleet_address *address, unsigned int bits)
{
	for (unsigned int i = 0; i < 16; i++) {
		const unsigned int kept = bits > 8 * i ? bits - 8 * i : 0;

		if (kept < 8)
			address->bytes[i] &= (uint8_t)(0xff00u >> kept);
	}
	address->bits = (uint16_t)bits;
}

struct fleet_address addresses_whole(uint16_t family, const uint8_t *bytes)
{
	struct fleet_address out = { .family = family,
				     .bits = (uint16_t)addresses_length(family) };

	memcpy(out.bytes, bytes, family == AF_INET ? 4 : 16);
	return out;
}

int addresses_parse(const char *text, struct fleet_address *out)
{
	const char *slash = strchr(text, '/');
	const size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char address[ADDRESS_TEXT_MAX];
	struct fleet_address masked;
	uint64_t bits;

	if (len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, len);
	address[len] = '\0';
	*out = (struct fleet_address){ .family = strchr(address, ':') ? AF_INET6 : AF_INET };
	if (inet_pton(out->family, address, out->bytes) != 1)
		return -EINVAL;
	bits = addresses_length(out->family);
	if (slash && (parse_u64(slash + 1, &bits) || bits > addresses_length(out->family)))
		return -EINVAL;
	masked = *out;
	addresses_mask(&masked, (unsigned int)bits);
	if (memcmp(masked.bytes, out->bytes, sizeof(masked.bytes)) != 0)
		return -EINVAL;
	*out = masked;
	return 0;
}

bool addresses_is_local(const struct fleet_address *address)
{
	static const uint8_t zeros[16];
	const uint8_t *b = address->bytes;

	if (!memcmp(b, zeros, sizeof(zeros)))
		return true;
	if (address->family == AF_INET)
		return b[0] == 127 || (b[0] == 169 && b[1] == 254);
	return (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) || (!memcmp(b, zeros, 15) && b[15] == 1);
}

/* ---- the table ---- */

static uint32_t *addresses_slot(const struct fleet_addresses *a, const struct fleet_address *prefix)
{
	return &a->slots[hash_bytes(prefix, sizeof(*prefix)) & (a->n_slots - 1)];
}

static void addresses_chain(struct fleet_addresses *a, uint32_t i)
{
	uint32_t *head = addresses_slot(a, &a->entries.items[i].prefix);

	a->entries.items[i].next = *head;
	*head = i + 1;
}

static int addresses_grow(struct fleet_addresses *a)
{
	const size_t n = a->n_slots ? 2 * a->n_slots : FIRST_SLOTS;
	uint32_t *slots;

	if (a->entries.len < a->n_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(a->slots);
	a->slots = slots;
	a->n_slots = n;
	for (uint32_t i = 0; i < a->entries.len; i++)
		addresses_chain(a, i);
	return 0;
}

static struct address_entry *addresses_entry(const struct fleet_addresses *a,
					     const struct fleet_address *prefix)
{
	uint32_t at = a->n_slots ? *addresses_slot(a, prefix) : 0;

	while (at && memcmp(&a->entries.items[at - 1].prefix, prefix, sizeof(*prefix)) != 0)
		at = a->entries.items[at - 1].next;
	return at ? &a->entries.items[at - 1] : NULL;
}

int addresses_add(struct fleet_addresses *a, const struct fleet_address *prefix, uint32_t host,
		  bool ambiguous, uint32_t *other)
{
	struct address_entry *entry = addresses_entry(a, prefix);
	int err;

	if (entry) {
		*other = entry->host;
		if (entry->host == host)
			return 0;
		if (ambiguous && entry->host != ADDRESSES_NONE) {
			entry->host = ADDRESSES_NONE;
			a->shared++;
		}
		return -EEXIST;
	}
	err = addresses_grow(a);
	if (!err)
		err = vec_push(&a->entries, (struct address_entry){ .prefix = *prefix,
								     .host = host });
	if (err)
		return err;
	addresses_chain(a, (uint32_t)a->entries.len - 1);
	a->bits[prefix->family == AF_INET6][prefix->bits] = true;
	return 0;
}

uint32_t addresses_find(const struct fleet_addresses *a, const struct fleet_address *address)
{
	struct fleet_address prefix = *address;

	for (unsigned int bits = addresses_length(address->family) + 1; bits--;) {
		const struct address_entry *entry;

		if (!a->bits[address->family == AF_INET6][bits])
			continue;
		addresses_mask(&prefix, bits);
		entry = addresses_entry(a, &prefix);
		if (entry)
			return entry->host;
	}
	return ADDRESSES_NONE;
}
