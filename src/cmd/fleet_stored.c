/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_stored.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/fleet_conns.h"
#include "cmd/fleet_resources.h"
#include "cmd/fleet_store.h"
#include "cmd/fleet_stored_each.h"
#include "report/human.h"
#include "store/series.h"

_Static_assert(SERIES_STEPS == FLEET_STEPS && SERIES_UNKNOWN == FLEET_UNKNOWN,
	       "a stored share is a share of the analysis");

/*
 * A stall may have begun before the window in which its end is counted: the kernel gives up after a
 * quarter of an hour (tcp_retries2), or a few times that.
 */
#define STALL_NS_MAX (3600 * NS_PER_S)
#define MOVED_BYTES 4096u

/* Rows on their way into the fleet. */
struct stored_reading {
	struct fleet_stored *s;
	struct fleet_inputs *in;
	struct fleet *f;
	struct fleet_conns conns;     /* those of one host and boot */
	const struct fleet_recording *recording; /* recording of the last row */
	uint8_t *cells;
};

/* ---- identity ---- */

static void stored_set_address(const char *text, uint8_t out[16], struct event_flow *flow)
{
	if (inet_pton(AF_INET, text, out) == 1)
		flow->family = AF_INET;
	else if (inet_pton(AF_INET6, text, out) == 1)
		flow->family = AF_INET6;
	else
		return;
	flow->id = 1;
}

static const char *stored_known(const char *text)
{
	return *text ? text : NULL;
}

static struct fleet_identity stored_identity(const struct store_connection *row)
{
	struct fleet_identity identity = {
		.netns = row->netns, .cookie = row->cookie, .accepted = row->accepted,
		.unit = stored_known(row->unit), .cgroup = stored_known(row->cgroup),
		.command = stored_known(row->command),
		.application = stored_known(row->application),
		.flow = { .local_port = (uint16_t)row->local_port,
			  .remote_port = (uint16_t)row->remote_port },
	};

	stored_set_address(row->local, identity.flow.local, &identity.flow);
	stored_set_address(row->remote, identity.flow.remote, &identity.flow);
	return identity;
}

/* ---- connections ---- */

/* Forgets the connections of another host or boot: cookies are numbers of one boot. */
static int stored_begin_recording(struct stored_reading *r, const struct fleet_recording *recording)
{
	const struct fleet_recording *last = r->recording;

	r->recording = recording;
	if (last == recording || (last && fleet_scan_is_same_boot(last, recording)))
		return 0;
	fleet_conns_release(&r->conns);
	return fleet_conns_init(&r->conns);
}

/* Sets the connection of a row, made if new. Returns 0, -ENOMEM or -E2BIG. */
static int stored_connection(struct stored_reading *r, struct fleet_recording *recording,
			     const struct store_connection *row, uint32_t *index)
{
	struct fleet_conn_state *conn = fleet_conns_find_key(&r->conns, row->netns, row->cookie);
	const struct fleet_identity identity = stored_identity(row);
	int err = 0;

	if (!conn) {
		err = fleet_resources_add(r->in, r->f, recording, &identity, index);
		err = err ? err : fleet_conns_add(&r->conns, row->netns, row->cookie, *index);
		if (err)
			return err;
		conn = vec_last(&r->conns.all);
	}
	*index = conn->index;
	recording->connections += conn->to != recording->run.started_ns;
	conn->to = recording->run.started_ns;
	return 0;
}

/* ---- shares ---- */

/* Adds the shares of a class, as far as the grid has their time. */
static int stored_add_class(struct stored_reading *r, uint32_t conn, enum fleet_class class,
			    const struct store_window *window, const struct store_shares *shares)
{
	const struct fleet_grid *grid = &r->in->grid;
	const uint32_t n = (uint32_t)(window->length_ns / window->step_ns);
	const int64_t first = ((int64_t)window->window_ns - (int64_t)grid->start_ns) /
			      (int64_t)grid->step_ns;
	const uint32_t skip = first < 0 ? (uint32_t)-first : 0;
	const uint64_t at = first < 0 ? 0 : (uint64_t)first;
	struct fleet_stretch stretch = {
		.first = (uint32_t)at, .cells = r->cells + skip, .known_ns = shares->known_ns,
		.limited_ns = shares->limited_ns, .lost_ns = shares->lost_ns };

	if (!shares->known_ns)
		return 0;
	if (shares->known_ns > window->length_ns ||
	    shares->lost_ns > window->length_ns + STALL_NS_MAX)
		return -EINVAL;
	if (series_read(shares->series, r->cells, n) || skip >= n || at >= grid->intervals)
		return -EINVAL;
	stretch.n = n - skip < grid->intervals - at ? n - skip : (uint32_t)(grid->intervals - at);
	return fleet_add_stretch(r->f, conn, class, &stretch);
}

static int stored_add_shares(struct stored_reading *r, uint32_t conn,
			     const struct store_window *window, const struct store_connection *row)
{
	struct store_connection copy = *row;
	int err = 0;

	for (unsigned int class = 0; class < FLEET_CLASSES && !err; class++)
		err = stored_add_class(r, conn, class, window, fleet_store_shares(&copy, class));
	return err;
}

/* A fleet_stored_fn. */
static int stored_take(void *ctx, struct stored_window *window, const struct store_connection *row)
{
	struct stored_reading *r = ctx;
	struct fleet_recording *recording = &r->in->scan.recordings.items[window->recording];
	uint32_t index;
	int err = stored_begin_recording(r, recording);

	err = err ? err : stored_connection(r, recording, row, &index);
	err = err ? err : stored_add_shares(r, index, &window->row, row);
	recording->beyond += err == -E2BIG;
	r->s->invalid += err == -EINVAL;
	return err == -E2BIG || err == -EINVAL ? 0 : err;
}

int fleet_stored_read(struct fleet_stored *s, struct fleet_inputs *in, struct fleet *f)
{
	struct stored_reading r = { .s = s, .in = in, .f = f,
				    .cells = malloc(FLEET_INTERVALS_MAX) };
	int err = r.cells ? fleet_stored_each(s, stored_take, &r) : -ENOMEM;

	if (err)
		log_error("%s", err == -ENOMEM ? "out of memory" : store_why(s->store));
	fleet_conns_release(&r.conns);
	free(r.cells);
	return err ? EXIT_CANNOT : EXIT_OK;
}

/* ---- the report ---- */

static void stored_report_moved(const struct fleet_stored *s, struct report *r)
{
	struct strbuf text = STRBUF_INIT(MOVED_BYTES);

	fleet_stored_moved(s, &text);
	if (text.len)
		report_finding(r, "%s", strbuf_str(&text));
	strbuf_release(&text);
}

void fleet_stored_report(const struct fleet_stored *s, struct report *r)
{
	char n[HUMAN_MAX];

	stored_report_moved(s, r);
	if (s->unreachable)
		report_reason(r, "store-unreachable", s->unreachable, "servers of the store could "
			      "not be reached: the report lacks their rows");
	if (s->incomplete)
		report_reason(r, "store-incomplete", s->first_incomplete, "%s incomplete: the "
			      "store does not have all of their connections now; read again when "
			      "all of its servers are there, or ingest the recordings again",
			      human_counted(n, s->incomplete, "window"));
	if (s->overlapping)
		report_reason(r, "recordings-overlap", NULL, "%s left out: the host has two "
			      "recordings of that time (or two hosts have one name), and each "
			      "connection would count twice",
			      human_counted(n, s->overlapping, "window"));
	if (s->other_step)
		report_reason(r, "other-steps", NULL, "%s left out: other steps than --step",
			      human_counted(n, s->other_step, "window"));
	if (s->invalid)
		report_reason(r, "events-invalid", NULL, "%s ignored because of impossible values",
			      human_counted(n, s->invalid, "row"));
}
