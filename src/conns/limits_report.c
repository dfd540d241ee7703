/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the limits of a run's connections, as sentences and as a table. */
#include <inttypes.h>

#include "base/bug.h"
#include "conns/counter.h"
#include "conns/limits.h"
#include "conns/problem.h"
#include "conns/words.h"
#include "report/human.h"

/* Smallest share of time that the text lists. */
#define SAID_SHARE 0.005
/* Least share of unknown time that the text mentions. */
#define UNKNOWN_SHARE 0.05

static const char *const ends[LIMITS_ENDS] = { [LIMITS_SERVER] = "server",
					       [LIMITS_CLIENT] = "client" };
static const char *const duties[LIMITS_DUTIES] = { [LIMITS_READ] = "read",
						   [LIMITS_WRITE] = "write" };

const char *limits_end_name(unsigned int end)
{
	return ends[end];
}

const char *limits_duty_name(unsigned int duty)
{
	return duties[duty];
}

/* Returns why shares of the time are unknown; NULL if they are known. */
static const char *limits_no_shares_reason(const struct conn_aggregate *sum)
{
	if (!sum->connections)
		return "no connections";
	if (!conn_knows(&sum->sum, CONN_KNOWS_TIMES))
		return "the time at each limit is unknown for some connections";
	return conn_known_ns(&sum->sum) ? NULL :
					  "too few samples show what limits the connections";
}

const char *limits_unknown_reason(const struct limits *l, unsigned int end)
{
	return limits_no_shares_reason(&l->ends[end]);
}

/*
 * Returns the part of an end's time at sender-app in which it had nothing to send; null if no
 * interval has such time.
 */
static struct value limits_peers_turn_value(const struct limits *l, unsigned int end)
{
	const double all = (double)l->sender_app_ns[end];

	return all > 0 ? value_fraction((double)l->peers_turn_ns[end] / all) : value_null();
}

/* ---- JSON ---- */

static struct value limits_shares_value(const struct conn_aggregate *sum, struct report *r)
{
	const bool known = !limits_no_shares_reason(sum);
	struct object *o = object_new(r);

	for (unsigned int i = 0; i < WORDS_TIMES; i++)
		object_add(o, words_time_name(i),
			   known ? conn_aggregate_share(&sum->sum, words_time(&sum->sum, i))
				 : value_null());
	return value_object(o);
}

struct value limits_ends(const struct limits *l, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "end" }, { .name = "connections" }, { .name = "closed" },
		{ .name = "with_problems" }, { .name = "share" }, { .name = "time_ns" },
		{ .name = "unknown_ns" }, { .name = "samples" }, { .name = "events" },
		{ .name = "peers_turn" }, { .name = "why" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (unsigned int i = 0; i < LIMITS_ENDS; i++) {
		const struct conn_aggregate *s = &l->ends[i];
		const struct event_conn *e = &s->sum;

		TABLE_ADD(t, value_string(ends[i]), value_u64(s->connections),
			  value_u64(s->closed), value_u64(s->troubled), limits_shares_value(s, r),
			  value_object(words_times(e, r)),
			  words_known(e, CONN_KNOWS_TIMES, value_ns(e->unknown_ns)),
			  words_known(e, CONN_KNOWS_TIMES, value_u64(e->samples)),
			  value_object(words_events(e, r)), limits_peers_turn_value(l, i),
			  value_string(limits_no_shares_reason(s)));
	}
	return value_table(t);
}

/* ---- text ---- */

/* Returns " (98 % of it while the peer had to send)" for sender-app; "" if that is unknown or 0. */
static const char *limits_peers_turn_text(const struct limits *l, unsigned int end,
					  struct report *r)
{
	char buf[HUMAN_MAX];

	if (!l->peers_turn_ns[end])
		return "";
	return report_format(r, " (%s of it while the peer had to send)",
			     human_fraction(buf, limits_peers_turn_value(l, end).fraction));
}

/* Returns "receiver-window 60 %, sender-app 40 %"; the largest share comes first. */
static const char *limits_times_line(const struct limits *l, unsigned int end, struct report *r)
{
	const struct conn_aggregate *sum = &l->ends[end];
	const struct event_conn *e = &sum->sum;
	const char *why = limits_no_shares_reason(sum), *line = "";
	const uint64_t known = conn_known_ns(e);
	const double unknown = (double)e->unknown_ns / ((double)known + (double)e->unknown_ns + 1);
	bool listed[WORDS_TIMES] = { false };
	char buf[HUMAN_MAX];

	if (why)
		return report_format(r, "limits n/a (%s)", why);
	for (int n = 0; n < WORDS_TIMES; n++) {
		int most = -1;

		for (int i = 0; i < WORDS_TIMES; i++)
			if (!listed[i] && (most < 0 || words_time(e, (unsigned int)i) >
						     words_time(e, (unsigned int)most)))
				most = i;
		listed[most] = true;
		if (conn_share(e, words_time(e, (unsigned int)most)) >= SAID_SHARE)
			line = report_format(r, "%s%s%s %s%s", line, *line ? ", " : "",
					     words_time_name((unsigned int)most),
					     human_fraction(buf, conn_share(e,
						words_time(e, (unsigned int)most))),
					     most ? "" : limits_peers_turn_text(l, end, r));
	}
	return unknown < UNKNOWN_SHARE ? line :
	       report_format(r, "%s (unknown for %s of the time)", line,
			     human_fraction(buf, unknown));
}

static const char *limits_events_line(const struct event_conn *e, struct report *r)
{
	const struct counter *counter = NULL;
	const char *line = "";
	char buf[HUMAN_MAX];

	while ((counter = counter_next(counter, COUNTER_OF_EVENTS)))
		line = report_format(r, "%s%s%s %s", line, *line ? ", " : "",
				     counter->text.label ? counter->text.label : counter->name,
				     counter_is_known(counter, e) ?
				     human_count(buf, counter_value(counter, e)) : "n/a");
	return line;
}

void limits_findings(const struct limits *l, struct report *r)
{
	char buf[HUMAN_MAX];

	for (unsigned int i = 0; i < LIMITS_ENDS; i++) {
		const struct conn_aggregate *s = &l->ends[i];

		if (s->connections)
			report_finding(r, "%s connection%s of the %s: %s; %s.",
				       human_count(buf, s->connections),
				       s->connections == 1 ? "" : "s", ends[i],
				       limits_times_line(l, i, r), limits_events_line(&s->sum, r));
	}
}
