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

#define ROWS_AT_ONCE 200000u /* rows of one query, so that the server need not sort them all */

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

/* ---- queries ---- */

/* Returns the first window after `first` of another host; all->len at the end. */
static size_t stored_next_host(const struct stored_windows *all, size_t first, uint64_t *rows)
{
	size_t end = first;

	for (*rows = 0; end < all->len; end++) {
		if (strcmp(all->items[end].row.host, all->items[first].row.host) != 0)
			break;
		*rows += all->items[end].row.connections;
	}
	return end;
}

/* Returns the end of the hosts whose rows fit into one query; one host at least. */
static size_t stored_batch(const struct stored_windows *all, size_t first)
{
	uint64_t sum, rows;
	size_t end = stored_next_host(all, first, &sum);

	while (end < all->len) {
		const size_t next = stored_next_host(all, end, &rows);

		if (sum + rows > ROWS_AT_ONCE)
			break;
		sum += rows;
		end = next;
	}
	return end;
}

static int stored_read_batch(struct stored_walk *w, size_t first, size_t end)
{
	const struct stored_windows *all = &w->s->windows;
	struct store_query query = { .table = &store_connections, .from_ns = INT64_MAX,
				     .first_host = all->items[first].row.host,
				     .last_host = all->items[end - 1].row.host };

	for (size_t i = first; i < end; i++) {
		const uint64_t ns = all->items[i].row.window_ns;

		query.from_ns = ns < query.from_ns ? ns : query.from_ns;
		query.to_ns = ns >= query.to_ns ? ns + 1 : query.to_ns;
	}
	return store_select(w->s->store, &query, stored_row, w);
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
	int err = 0;

	for (size_t at = 0, end; at < s->windows.len && !err; at = end) {
		end = stored_batch(&s->windows, at);
		err = stored_read_batch(&w, at, end);
	}
	return err ? err : stored_note_missing(s);
}
