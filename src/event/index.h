/* SPDX-License-Identifier: Apache-2.0 */
/* Where the chunks of a file are, by kind, core and domain: what seek() goes by. */
#ifndef HOSTLAT_EVENT_INDEX_H
#define HOSTLAT_EVENT_INDEX_H

#include "base/vec.h"
#include "event/chunkin.h"

struct event_index {
	/* By (kind, core, domain, offset). */
	struct event_entries VEC_OF(struct event_index_entry) entries;
	bool rebuilt;			/* there was none, or not a whole one */
	struct event_damage damage;	/* that rebuilding met */
};

void event_index_init(struct event_index *index);
void event_index_release(struct event_index *index);

/* Reads the end mark of a seekable file. False if it has none. */
bool event_index_end(struct event_in *in, struct event_end *end);

/*
 * Loads the index that `end` names, or without one (NULL) or if that is damaged, makes it anew from
 * the headers of all chunks. 0, -EFBIG beyond EVENT_INDEX_MAX chunks, -ENOMEM.
 */
int event_index_load(struct event_index *index, struct event_in *in, const struct event_end *end);

/* The entries of one kind, core and domain are [*from, *to). */
void event_index_range(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to);

/* Narrows a range of EV_EDGE to the chunks that a window needs; see event/index.c. */
void event_index_edges(const struct event_index *index, const struct event_window *window,
		       size_t *from, size_t *to);

#endif
