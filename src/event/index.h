/* SPDX-License-Identifier: Apache-2.0 */
/* Index of a file's chunks by kind, core and domain, for seek(). */
#ifndef HOSTLAT_EVENT_INDEX_H
#define HOSTLAT_EVENT_INDEX_H

#include "base/vec.h"
#include "event/chunkin.h"

struct event_index {
	/* Sorted by (kind, core, domain, offset). */
	struct event_entries VEC_OF(struct event_index_entry) entries;
	bool rebuilt;			/* the file had no index, or a damaged one */
	struct event_damage damage;	/* damage found while rebuilding */
};

void event_index_init(struct event_index *index);
void event_index_release(struct event_index *index);

/* Reads the end mark of a seekable file. Returns false if the file has none. */
bool event_index_end(struct event_in *in, struct event_end *end);

/*
 * Loads the index that `end` refers to. Rebuilds it from the headers of all chunks if the index is
 * damaged or `end` is NULL. Returns 0, -EFBIG beyond EVENT_INDEX_MAX chunks, or -ENOMEM.
 */
int event_index_load(struct event_index *index, struct event_in *in, const struct event_end *end);

/* Finds the range [*from, *to) of the entries of the window's kind, core and domain. */
void event_index_range(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to);

/* Narrows a range of EV_EDGE to chunks that overlap the window; if none: the next, or the last. */
void event_index_edges(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to);

#endif
