/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording is read twice: connections with the names and flags that any record of theirs has,
 * and then their readings.
 *
 * Records are read as they are recorded, not by the intervals of the analysis of conns. Without a
 * problem, a recording sums up to a minute, which it writes together with the interval in which the
 * next problem begins; that analysis would join the two, and lose when the problem began.
 */
#include "cmd/fleet_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/fleet_conns.h"
#include "cmd/fleet_reading.h"
#include "cmd/recorded_file.h"
#include "conns/conn_accumulate.h"
#include "conns/view.h"
#include "event/clocks.h"
#include "event/reader.h"

/* A recording that is being read. */
struct fleet_file {
	struct fleet_inputs *in;
	const struct fleet_windows *windows;
	fleet_note_fn *note;          /* NULL: nobody wants to know */
	void *ctx;
	struct fleet_recording *recording;
	struct fleet_conns conns;
	const struct fleet_conns *before; /* those of earlier recordings */
	struct event_clocks clocks;
	uint64_t end;                 /* end of the last interval, monotonic */
};

/* ---- connections ---- */

static int fleet_read_record(struct fleet_file *r, const struct event *event)
{
	struct event_interval interval;
	struct event_flow flow;
	int err = event_clocks_add(&r->clocks, event);

	if (err)
		return err;
	if (event->kind == EV_NAME) {
		err = event_dict_set(r->conns.names, event);
	} else if (event->kind == EV_FLOW) {
		event_copy(event, &flow, sizeof(flow));
		err = flow.id ? fleet_conns_set_flow(&r->conns, &flow) : 0;
	} else if (event->kind == EV_LOSS) {
		const struct event_loss *loss = event->payload;

		r->recording->lost += loss->why == LOSS_DICT_FULL ? 0 : loss->records;
	} else if (event->kind == EV_INTERVAL) {
		event_copy(event, &interval, sizeof(interval));
		r->end = interval.to_ns > r->end ? interval.to_ns : r->end;
	}
	return err == -ENOMEM ? err : 0;
}

static int fleet_read_gather(struct fleet_file *r, const struct event_block *block)
{
	struct event_conn room;
	struct event event;
	size_t at = 0;
	int err = 0;

	for (uint32_t i = 0; block->kind == EV_CONN && i < block->count && !err; i++) {
		const struct event_conn *e = event_block_record(block, i, &room, sizeof(room));

		r->recording->records++;
		if (!conn_accumulate_accepts(e))
			r->recording->refused++;
		else
			err = fleet_conns_gather(&r->conns, e);
		r->recording->beyond += err == -E2BIG;
		err = err == -E2BIG ? 0 : err;
	}
	while (!block->record_size && !err && event_block_next(block, &at, &event))
		err = fleet_read_record(r, &event);
	return err;
}

static const char *fleet_read_name(const struct fleet_file *r, uint32_t dict, uint32_t id)
{
	return id ? event_dict_get(r->conns.names, dict, id) : NULL;
}

/* Adds a connection to all windows, each of which gives it the same index. */
static int fleet_read_add_connection(struct fleet_file *r, struct fleet_conn_state *conn)
{
	const struct fleet_identity identity = {
		.netns = conn->netns, .cookie = conn->cookie, .flow = conn->flow,
		.accepted = conn->flags & CONN_ACCEPTED,
		.unit = fleet_read_name(r, DICT_UNIT, conn->unit),
		.cgroup = fleet_read_name(r, DICT_CGROUP, conn->cgroup),
		.command = fleet_read_name(r, DICT_STRING, conn->comm),
	};
	int err = 0;

	for (uint32_t i = 0; i < r->windows->n && !err; i++)
		err = fleet_resources_add(r->in, r->windows->fleets[i], r->recording, &identity,
					  &conn->index);
	return err || !r->note ? err : r->note(r->ctx, &identity, conn->index);
}

static int fleet_read_add_connections(struct fleet_file *r)
{
	vec_for_each(&r->conns.all, conn) {
		const struct fleet_conn_state *before;
		int err = 0;

		if (conn->flags & CONN_SELF) {
			r->recording->own++;
			continue;
		}
		before = fleet_conns_find_key(r->before, conn->netns, conn->cookie);
		if (before)
			conn->index = before->index;
		else
			err = fleet_read_add_connection(r, conn);
		if (err && err != -E2BIG)
			return err;
		r->recording->beyond += !!err;
		r->recording->connections += !err;
	}
	return 0;
}

/* ---- readings ---- */

/* Sets *out to the realtime. Returns false if it is unknown. */
static bool fleet_read_time(const struct fleet_file *r, uint64_t mono_ns, uint64_t *out)
{
	struct clock_time time;

	if (event_clocks_realtime(&r->clocks, mono_ns, &time) || time.value <= 0)
		return false;
	*out = (uint64_t)time.value;
	if (time.error_ns > r->recording->error_ns)
		r->recording->error_ns = time.error_ns;
	return true;
}

/* Sets the realtime of from..to. Returns false if it is unknown, or the clock was set meanwhile. */
static bool fleet_read_times(const struct fleet_file *r, uint64_t from, uint64_t to,
			     struct fleet_reading *out)
{
	uint64_t length, apart;

	if (!fleet_read_time(r, from, &out->from_ns) || !fleet_read_time(r, to, &out->to_ns) ||
	    out->from_ns >= out->to_ns)
		return false;
	length = out->to_ns - out->from_ns;
	apart = length > to - from ? length - (to - from) : to - from - length;
	return apart <= r->in->grid.step_ns / 4;
}

/* Adds a reading of the monotonic time from..to, divided at the losses of `e` (NULL: none). */
static int fleet_read_put(struct fleet_file *r, uint32_t conn, struct fleet_reading *reading,
			  uint64_t from, uint64_t to, const struct event_conn *e)
{
	struct fleet_reading parts[FLEET_READING_PARTS];
	uint64_t first, last;
	unsigned int n = 1;
	int err = 0;

	if (!fleet_read_times(r, from, to, reading)) {
		r->recording->untimed++;
		return 0;
	}
	parts[0] = *reading;
	if (e && e->loss_first && fleet_read_time(r, e->loss_first, &first) &&
	    fleet_read_time(r, e->loss_last, &last))
		n = fleet_reading_divide(reading, first, last, &r->in->grid, parts);
	for (unsigned int i = 0; i < n && !err; i++)
		err = fleet_windows_add(r->windows, conn, &parts[i]);
	r->recording->untimed += err == -EINVAL; /* the clock was set back */
	return err == -EINVAL ? 0 : err;
}

/* Returns whether the connection can only stay as it is until its next record. */
static bool fleet_read_is_idle(const struct event_conn *e)
{
	return conn_knows(e, CONN_KNOWS_GAUGES) && !e->unsent && !e->unacked &&
	       !(e->flags & CONN_CLOSED);
}

static int fleet_read_conn(struct fleet_file *r, const struct event_conn *e)
{
	struct fleet_conn_state *conn = fleet_conns_find(&r->conns, e);
	struct fleet_reading reading;
	int err;

	if (!conn || conn->index == FLEET_NONE || !conn_accumulate_accepts(e) || e->to <= e->from)
		return 0;
	fleet_reading_fill(e, &reading);
	err = fleet_read_put(r, conn->index, &reading, e->from, e->to, e);
	if (err == -E2BIG) {
		conn->index = FLEET_NONE;
		r->recording->beyond++;
		return 0;
	}
	conn->to = e->to;
	conn->known = reading.known;
	conn->idle = fleet_read_is_idle(e);
	return err;
}

static int fleet_read_readings(struct fleet_file *r, const struct event_block *block)
{
	struct event_conn room;
	int err = 0;

	for (uint32_t i = 0; block->kind == EV_CONN && i < block->count && !err; i++)
		err = fleet_read_conn(r, event_block_record(block, i, &room, sizeof(room)));
	return err;
}

/*
 * Adds the time after the last record of idle connections: at its end a run reads all connections,
 * and reports each on which anything has moved. If the end is missing, this time is unknown.
 */
static int fleet_read_idle(struct fleet_file *r)
{
	const struct fleet_recording *recording = r->recording;
	int err = 0;

	if (!recording->ended || *recording->damaged || recording->lost)
		return 0;
	vec_for_each(&r->conns.all, conn) {
		struct fleet_reading reading;

		if (err || conn->index == FLEET_NONE || !conn->idle || conn->to >= r->end)
			continue;
		fleet_reading_idle(conn->known, &reading);
		err = fleet_read_put(r, conn->index, &reading, conn->to, r->end, NULL);
		err = err == -E2BIG ? 0 : err; /* it has no readings, as others of its file */
	}
	return err;
}

/* ---- recordings ---- */

static int fleet_read_blocks(struct fleet_file *r, struct event_source *source,
			     int (*feed)(struct fleet_file *r, const struct event_block *block))
{
	struct event_block block;
	int err = 0;

	while (!err && (err = event_source_next(source, &block)) > 0)
		err = feed(r, &block);
	return err;
}

static void fleet_read_damage(struct event_source *source, struct fleet_recording *recording)
{
	struct strbuf names = STRBUF_INIT(sizeof(recording->damaged) - 1);
	struct event_damage damage;

	event_source_damage(source, &damage);
	event_damage_put(&damage, &names);
	snprintf(recording->damaged, sizeof(recording->damaged), "%s", strbuf_str(&names));
	strbuf_release(&names);
}

static int fleet_read_twice(struct fleet_file *r, struct event_source *source)
{
	int err = fleet_read_blocks(r, source, fleet_read_gather);

	fleet_read_damage(source, r->recording);
	if (!err)
		err = fleet_read_add_connections(r);
	if (!err)
		err = event_source_rewind(source);
	if (!err)
		err = fleet_read_blocks(r, source, fleet_read_readings);
	return err ? err : fleet_read_idle(r);
}

/* Reads a recording; `before` has the connections of earlier ones of the host, and then all. */
static int fleet_read_recording(struct fleet_file *r, struct fleet_recording *recording,
				struct fleet_conns *before)
{
	struct event_reader *reader = recorded_file_open(recording->path);
	int err;

	if (!reader)
		return EXIT_CANNOT;
	r->recording = recording;
	r->before = before;
	r->end = 0;
	event_clocks_init(&r->clocks, 1u << DOMAIN_REALTIME);
	err = fleet_conns_init(&r->conns);
	if (!err)
		err = fleet_read_twice(r, event_reader_source(reader));
	if (!err)
		err = fleet_conns_keep(&r->conns, before);
	if (err)
		recorded_file_failed(recording->path, "read", err);
	fleet_conns_release(before);
	*before = r->conns;
	event_clocks_release(&r->clocks);
	event_reader_free(reader);
	return err ? EXIT_CANNOT : EXIT_OK;
}

int fleet_read(struct fleet_inputs *in, const struct fleet_windows *windows, fleet_note_fn *note,
	       void *ctx)
{
	struct fleet_file r = { .in = in, .windows = windows, .note = note, .ctx = ctx };
	const struct fleet_recording *last = NULL;
	struct fleet_conns before = { 0 };
	int code = EXIT_OK;

	vec_for_each(&in->scan.recordings, recording) {
		if (code != EXIT_OK)
			break;
		/* cookies are numbers of one boot */
		if (last && !fleet_scan_is_same_boot(last, recording))
			fleet_conns_release(&before);
		code = fleet_read_recording(&r, recording, &before);
		last = recording;
	}
	fleet_conns_release(&before);
	return code;
}
