/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the rows of connections beside those of windows: both are in the order of host, recording
 * and window.
 */
#include "cmd/fleet_stored_each.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

struct stored_walk {
	struct fleet_stored *s;
	fleet_stored_fn *take;
	void *ctx;
	size_t at;                    /* window that the next row may belong to */
	uint64_t netns, cookie;       /* those of this window's last row */
	bool any;                     /* there is one */
};

/* ---- rows ---- */

static int stored_order(const struct store_window *window, const struct store_connection *row)
{
	return strcmp(window->host, row->host) ?:
	       sort_order(window->recording_ns, row->recording_ns) ?:
	       sort_order(window->window_ns, row->window_ns);
}

/* Returns the window that the row belongs to; NULL: none that counts. */
static struct stored_window *stored_window_of(struct stored_walk *w,
					      const struct store_connection *row)
{
	const struct stored_windows *all = &w->s->windows;
	struct stored_window *window;

	while (w->at < all->len && stored_order(&all->items[w->at].row, row) < 0) {
		w->at++;
		w->any = false;
	}
	window = w->at < all->len ? &all->items[w->at] : NULL;
	if (!window || stored_order(&window->row, row) || window->left_out ||
	    window->row.version != row->version)
		return NULL;
	return window;
}

/* A store_row_fn: passes each connection of a window once. */
static int stored_row(void *ctx, const void *data)
{
	const struct store_connection *row = data;
	struct stored_walk *w = ctx;
	struct stored_window *window = stored_window_of(w, row);

	if (!window || (w->any && w->netns == row->netns && w->cookie == row->cookie))
		return 0;
	w->any = true;
	w->netns = row->netns;
	w->cookie = row->cookie;
	window->seen++;
	return w->take(w->ctx, window, row);
}

/* ---- missing rows ---- */

static int stored_note_missing(struct fleet_stored *s)
{
	const char *unreachable = store_unreachable(s->store);

	vec_for_each(&s->windows, window) {
		if (window->left_out || window->seen >= window->row.connections)
			continue;
		s->incomplete++;
		s->first_incomplete = s->first_incomplete ?: window->row.host;
	}
	if (unreachable)
		s->unreachable = strdup(unreachable);
	return unreachable && !s->unreachable ? -ENOMEM : 0;
}

int fleet_stored_each(struct fleet_stored *s, fleet_stored_fn *take, void *ctx)
{
	struct stored_walk w = { .s = s, .take = take, .ctx = ctx };
	struct store_query query = { .table = &store_connections, .from_ns = INT64_MAX };
	int err;

	vec_for_each(&s->windows, window) {
		const uint64_t ns = window->row.window_ns;

		query.from_ns = ns < query.from_ns ? ns : query.from_ns;
		query.to_ns = ns >= query.to_ns ? ns + 1 : query.to_ns;
	}
	err = store_select(s->store, &query, stored_row, &w);
	return err ? err : stored_note_missing(s);
}
