/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of each kind of event, as data: reader, writer and queue check events against it, so
 * that consumers can rely on the struct's definition. To add a kind: a value of enum event_kind,
 * its struct with an assert in layout.h, a row in kinds.c, a name in names.c.
 */
#ifndef HOSTLAT_EVENT_KINDS_H
#define HOSTLAT_EVENT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/* Header of a record among other records. The payload follows, padded with zeros to 8 bytes. */
struct event_record {
	uint16_t kind;
	uint16_t version;
	uint32_t size;		/* bytes of the payload, without padding */
	uint64_t time;
};

_Static_assert(sizeof(struct event_record) == 16, "size of struct event_record");

struct event_kind_info {
	uint16_t version;	/* version that this program writes; 0: unknown kind */
	uint32_t size;		/* bytes of the struct, without its trailing array */
	uint32_t least; /* smallest valid size of a payload, as in the version's first files */
	uint32_t item_size;	/* bytes of an array item; 0: no array */
	uint32_t item_count_at;	/* offset of the array's __u32 length */
	bool defines;		/* other events refer to this kind, which is written first */
	bool bulk;		/* frequent: gets separate chunks */
	/* Checks values of the payload; may be NULL. */
	bool (*check)(const void *payload, size_t size);
};

/* Returns the properties of a kind of event, never NULL; the version of an unknown kind is 0. */
const struct event_kind_info *event_kind_info(uint32_t kind);

static inline bool event_kind_is_block(uint32_t kind)
{
	return kind >= EV_BLOCK_MIN;
}

enum event_check {
	EVENT_GOOD,
	EVENT_UNKNOWN,	/* a kind of a newer hostlat */
	EVENT_NEWER,	/* a newer version of a known kind */
	EVENT_INVALID,	/* contradictory values */
};

enum event_check event_check(uint32_t kind, uint16_t version, const void *payload, size_t size);

static inline size_t event_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Returns the bytes that a record with `size` bytes of payload takes. */
static inline size_t event_record_size(size_t size)
{
	return sizeof(struct event_record) + event_padded(size);
}

#endif
