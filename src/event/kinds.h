/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of each kind of event, as data: reader, writer and queue check events by it, so that a
 * consumer can rely on all that the struct promises. To add a kind: a value of enum event_kind,
 * its struct with an assert in layout.h, a row in kinds.c, a name in names.c.
 */
#ifndef HOSTLAT_EVENT_KINDS_H
#define HOSTLAT_EVENT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/layout.h"

/* The header of a record among records. The payload follows, padded with zeros to 8 bytes. */
struct event_record {
	uint16_t kind;
	uint16_t version;
	uint32_t size;		/* of the payload, without padding */
	uint64_t time;
};

_Static_assert(sizeof(struct event_record) == 16, "size of struct event_record");

struct event_kind_info {
	uint16_t version;	/* that this program writes; 0: no such kind */
	uint32_t size;		/* of the struct, without the array that follows */
	uint32_t least;		/* size when the version began, as in older files */
	uint32_t item_size;	/* of the array that follows; 0: none */
	uint32_t item_count_at;	/* offset of its __u32 length */
	bool defines;		/* other events refer to it: written before them */
	bool bulk;		/* many of them: has chunks of its own */
	/* Checks the payload further; may be NULL. */
	bool (*check)(const void *payload, size_t size);
};

/* Never NULL; an unknown kind has version 0. */
const struct event_kind_info *event_kind_info(uint32_t kind);

static inline bool event_kind_is_block(uint32_t kind)
{
	return kind >= EV_BLOCK_MIN;
}

enum event_check {
	EVENT_GOOD,
	EVENT_UNKNOWN,	/* a kind from the future */
	EVENT_NEWER,	/* a newer version of a known kind */
	EVENT_INVALID,	/* contradicts itself */
};

enum event_check event_check(uint32_t kind, uint16_t version, const void *payload, size_t size);

static inline size_t event_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Bytes that a record with `size` bytes of payload takes. */
static inline size_t event_record_size(size_t size)
{
	return sizeof(struct event_record) + event_padded(size);
}

#endif
