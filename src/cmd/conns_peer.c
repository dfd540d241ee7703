/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_peer.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/recorded_file.h"
#include "cmd/run_facts.h"
#include "conns/peer_match.h"

/*
 * Largest plausible times of CLOCK_MONOTONIC and CLOCK_REALTIME, in ns. The sum of both fits into
 * an int64_t.
 */
#define MONOTONIC_MOST (INT64_MAX / 4)
#define REALTIME_MOST (INT64_MAX / 2) /* the year 2116 */

/* Facts of one recording that must be known before its connections are read. */
struct host_run {
	const char *path;
	struct event_reader *reader;
	struct run_facts run;
	uint64_t pid;
	uint64_t from, to;       /* start and end of the intervals, by the host's CLOCK_MONOTONIC */
	int64_t lo_ns, hi_ns;    /* smallest and largest CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t error_ns;
	bool any, clock;
	struct event_damage damage;
};

/* ---- facts of a recording ---- */

static void conns_peer_add_interval(struct host_run *s, const struct event *event)
{
	struct event_interval e;

	event_copy(event, &e, sizeof(e));
	if (e.from_ns > e.to_ns || e.to_ns > (uint64_t)MONOTONIC_MOST)
		return;
	s->from = s->any && s->from < e.from_ns ? s->from : e.from_ns;
	s->to = s->any && s->to > e.to_ns ? s->to : e.to_ns;
	s->any = true;
}

/* Widens the range of realtime - monotonic: setting the clock changes the offset. */
static void conns_peer_add_clock(struct host_run *s, const struct event *event)
{
	struct event_clock e;

	event_copy(event, &e, sizeof(e));
	if (e.realtime_minus_mono_ns > REALTIME_MOST || e.realtime_minus_mono_ns < 0 ||
	    e.error_ns > (uint64_t)MONOTONIC_MOST)
		return;
	if (!s->clock || e.realtime_minus_mono_ns < s->lo_ns)
		s->lo_ns = e.realtime_minus_mono_ns;
	if (!s->clock || e.realtime_minus_mono_ns > s->hi_ns)
		s->hi_ns = e.realtime_minus_mono_ns;
	if (e.error_ns > s->error_ns)
		s->error_ns = e.error_ns;
	s->clock = true;
}

static int conns_peer_add_event(void *ctx, const struct event *event)
{
	const char *key, *value;
	struct host_run *s = ctx;

	if (event->kind == EV_INTERVAL) {
		conns_peer_add_interval(s, event);
	} else if (event->kind == EV_CLOCK) {
		conns_peer_add_clock(s, event);
	} else if (event->kind == EV_FACT) {
		event_fact_get(event, &key, &value);
		run_facts_feed(&s->run, key, value);
		if (!strcmp(key, FACT_RUN_PID) && parse_u64(value, &s->pid))
			s->pid = 0;
	}
	return 0;
}

static int conns_peer_scan(struct host_run *s)
{
	int err;

	s->reader = recorded_file_open(s->path);
	if (!s->reader)
		return -ECANCELED;
	err = recorded_file_events(s->reader, conns_peer_add_event, s);
	if (!err)
		err = event_source_rewind(event_reader_source(s->reader));
	if (err < 0)
		recorded_file_failed(s->path, "join", err);
	else if (!s->any)
		log_error("cannot match the connections of %s: it has no valid interval",
			  s->path);
	else if (!s->clock)
		log_error("cannot match the connections of %s: it lacks the host's realtime clock, "
			  "which relates its times to the other recording's", s->path);
	return !err && s->any && s->clock ? 0 : -ECANCELED;
}

/* ---- the common time of two recordings ---- */

static int64_t conns_peer_offset_ns(const struct host_run *s)
{
	return s->lo_ns + (s->hi_ns - s->lo_ns) / 2;
}

static uint64_t conns_peer_clock_error_ns(const struct host_run *s)
{
	return (uint64_t)(s->hi_ns - s->lo_ns + 1) / 2 + s->error_ns;
}

/*
 * Sets `window` to the time that both recordings cover, by the monotonic clock of `here`. Returns
 * false if the recordings have no common time.
 */
static bool conns_peer_common_time(const struct host_run *here, const struct host_run *there,
				   struct conns_window *window)
{
	const int64_t shift = conns_peer_offset_ns(there) - conns_peer_offset_ns(here);
	const int64_t from = (int64_t)there->from + shift, to = (int64_t)there->to + shift;

	*window = (struct conns_window){
		.shift_ns = shift,
		.from = from > (int64_t)here->from ? (uint64_t)from : here->from,
		.to = to < (int64_t)here->to ? (uint64_t)(to > 0 ? to : 0) : here->to,
	};
	return window->from < window->to;
}

static bool conns_peer_is_same_run(const struct host_run *a, const struct host_run *b)
{
	return !strcmp(a->run.host, b->run.host) && a->run.started_ns == b->run.started_ns &&
	       a->pid == b->pid;
}

static bool conns_peer_check(const struct host_run *here, const struct host_run *there,
			     struct conns_window *window)
{
	if (conns_peer_is_same_run(here, there)) {
		log_error("%s and %s are of one run: --peer takes the recording of another host "
			  "(ends on the same host are matched without --peer)", here->path,
			  there->path);
		return false;
	}
	if (!conns_peer_common_time(here, there, window)) {
		log_error("%s and %s do not overlap in time by their hosts' clocks", here->path,
			  there->path);
		return false;
	}
	return true;
}

/* ---- reading ---- */

static int conns_peer_feed(void *ctx, const struct event_block *block)
{
	size_t at = 0;
	int err;

	while ((err = conns_feed_block(ctx, block, &at)) == CONNS_CLOSED)
		;
	return err;
}

static int conns_peer_read(struct host_run *s,
			   int (*to)(void *ctx, const struct event_block *block), void *ctx)
{
	struct event_source *source = event_reader_source(s->reader);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		err = to(ctx, &block);
		if (err)
			break;
	}
	event_source_damage(source, &s->damage);
	if (err < 0 && err != -ECANCELED)
		recorded_file_failed(s->path, "join", err);
	return err;
}

static int conns_peer_read_both(struct host_run *here, struct host_run *there,
				const struct conns_window *window, struct conns_view *view,
				struct conns *other)
{
	struct conns_window own = *window;
	int err;

	own.shift_ns = 0;
	conns_set_window(other, window);
	conns_set_window(view->conns, &own);
	err = conns_peer_read(there, conns_peer_feed, other);
	return err ? err : conns_peer_read(here, conns_view_feed, view);
}

static int conns_peer_report(struct host_run *here, struct host_run *there, struct conns_view *view)
{
	const struct conns_options all = { .text_only = true };
	struct peer_match_config config = {
		.here = { here->run.host, here->to - here->from },
		.there = { there->run.host, there->to - there->from },
		.error_ns = conns_peer_clock_error_ns(here) + conns_peer_clock_error_ns(there),
	};
	struct peer_recording *peer = NULL;
	struct conns *other = conns_new(&all);
	struct conns_window window;
	int code = EXIT_CANNOT;

	if (!other) {
		log_error("out of memory");
		return code;
	}
	if (!conns_peer_check(here, there, &window) ||
	    conns_peer_read_both(here, there, &window, view, other) < 0)
		goto out;
	if (peer_match_new(&peer, view->conns, other, &config)) {
		log_error("out of memory");
		goto out;
	}
	conns_set_damage(other, &there->damage);
	code = conns_view_close(view, &here->damage, 0);
out:
	peer_match_free(peer, view->conns);
	conns_free(other);
	return code;
}

int conns_peer_show(const char *from, const char *peer, struct conns_view *view)
{
	struct host_run here = { .path = from }, there = { .path = peer };
	int code = EXIT_CANNOT;

	if (!conns_peer_scan(&here) && !conns_peer_scan(&there))
		code = conns_peer_report(&here, &there, view);
	event_reader_free(here.reader);
	event_reader_free(there.reader);
	return code;
}
