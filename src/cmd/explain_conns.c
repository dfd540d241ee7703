/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain_conns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "cmd/conns_scope.h"
#include "cmd/recorded_file.h"
#include "conns/limits.h"
#include "conns/words.h"
#include "diagnose/thread_profile.h"
#include "report/difference.h"
#include "report/human.h"

/* Largest number of findings about connection problems in the verdict. */
#define PROBLEMS_SAID 2u

struct explain_conns {
	const char *why;             /* why the connections are unknown, borrowed; NULL: known */
	char unseen[256];            /* memory for `why` */
	struct conns_scope scope;
	struct conns_options options;
	struct conns *conns;
	struct limits limits;
	struct event_damage damage;
};

/* A thread for which connections waited, or the reason why that thread is unknown. */
struct party {
	enum limits_duty duty;
	enum limits_end end;
	const char *why;             /* why the thread is unknown, static; NULL: it is known */
	uint32_t pid;
	uint64_t connections;
	struct thread_profile profile;
};

struct parties VEC_OF(struct party);

/* ---- reading ---- */

static int explain_conns_feed(struct explain_conns *e, const struct event_block *block)
{
	size_t at = 0;
	int err;

	while ((err = conns_feed_block(e->conns, block, &at)) == CONNS_CLOSED) {
		err = limits_interval(&e->limits);
		if (err)
			return err;
	}
	return err;
}

static int explain_conns_read(struct explain_conns *e, struct event_reader *reader)
{
	struct event_source *source = event_reader_source(reader);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		err = explain_conns_feed(e, &block);
		if (err)
			return err;
	}
	event_source_damage(source, &e->damage);
	conns_set_damage(e->conns, &e->damage);
	return err ? err : limits_finish(&e->limits);
}

/*
 * Sets why no connection of the run is known. A run over TCP has connections: these were not seen.
 */
static void explain_conns_set_unseen(struct explain_conns *e)
{
	char buf[HUMAN_MAX];
	bool too_seldom;
	const uint64_t others = conns_seen(e->conns, &too_seldom);

	e->why = e->unseen;
	if (e->scope.no_tcp)
		e->why = "the run had no TCP connections";
	else if (others)
		snprintf(e->unseen, sizeof(e->unseen), "not seen: %s recorded, but none with the "
			 "server's port or of the load generator",
			 human_were(buf, others, "connection"));
	else if (too_seldom)
		e->why = "not seen: the CPU budget was too small to read the connections";
	else
		e->why = "not seen: no TCP connection was recorded during the run";
}

static int explain_conns_open(struct explain_conns *e, const char *path)
{
	struct event_reader *reader;
	int err = event_reader_open(&reader, path);

	if (err == -ENOENT)
		e->why = "the folder has no " EXPLAIN_CONNS;
	else if (err)
		e->why = "the recording of the connections cannot be read";
	if (err)
		return err == -ENOMEM ? err : 0;
	e->options = (struct conns_options){ .all = true, .select = conns_scope_selects,
					     .ctx = &e->scope };
	e->conns = conns_new(&e->options);
	if (e->conns) {
		limits_init(&e->limits, e->conns);
		err = explain_conns_read(e, reader);
	} else {
		err = -ENOMEM;
	}
	event_reader_free(reader);
	if (!err && !e->limits.ends[LIMITS_SERVER].connections &&
	    !e->limits.ends[LIMITS_CLIENT].connections)
		explain_conns_set_unseen(e);
	return err;
}

int explain_conns_new(struct explain_conns **out, const char *path, const char *why,
		      struct event_reader *server, struct event_reader *load)
{
	struct explain_conns *e = *out = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->why = why;
	err = conns_scope_read(&e->scope, server, load);
	return err || why ? err : explain_conns_open(e, path);
}

void explain_conns_free(struct explain_conns *e)
{
	if (!e)
		return;
	limits_release(&e->limits);
	conns_free(e->conns);
	free(e);
}

bool explain_conns_known(const struct explain_conns *e)
{
	return e->conns && !e->why;
}

/* ---- the threads for which connections waited ---- */

static struct party *party_find(struct parties *parties, const struct limits_owed *o, uint32_t task,
				const char *why)
{
	struct party party = { .duty = o->duty, .end = o->end, .why = why, .pid = o->pid };

	vec_for_each(parties, p)
		if (p->duty == o->duty && p->end == o->end && p->why == why &&
		    p->profile.task == task && (task || p->pid == o->pid))
			return p;
	thread_profile_init(&party.profile, task);
	return vec_push(parties, party) ? NULL : vec_last(parties);
}

static int party_add_owed(struct explain_conns *e, const struct diagnosis *d,
			  const struct limits_owed *o, struct parties *parties)
{
	const char *why = "the connection's other end was not found on this host";
	struct party *party;
	uint32_t task = 0;
	int err = 0;

	if (o->known)
		task = thread_profile_reader(d, o->flow.id ? &o->flow : NULL, o->pid, &why);
	party = party_find(parties, o, task, why);
	if (!party)
		return -ENOMEM;
	party->connections++;
	vec_for_each(&e->limits.stretches, s)
		if (!err && task && s->conn == o->conn && s->duty == (uint32_t)o->duty &&
		    s->cookie == o->cookie)
			err = vec_push(&party->profile.stretches,
				       (struct thread_stretch){ s->from, s->to });
	return err;
}

/* Marks a thread as unknown if the recording covers none of its time. */
static void party_check_known(struct party *p)
{
	if (!p->why && p->profile.ns[THREAD_UNKNOWN] == p->profile.total_ns)
		p->why = "the thread's activity was not recorded at these times";
}

static int parties_find(struct explain_conns *e, const struct diagnosis *d,
			struct parties *parties)
{
	struct thread_profile *all;
	int err = 0;

	vec_for_each(&e->limits.owed, o)
		if (!err)
			err = party_add_owed(e, d, o, parties);
	all = calloc(parties->len + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < parties->len; i++)
		all[i] = parties->items[i].profile;
	if (!err)
		err = thread_profile_fill(d, all, parties->len);
	for (size_t i = 0; i < parties->len; i++) {
		parties->items[i].profile = all[i];
		party_check_known(&parties->items[i]);
	}
	free(all);
	return err;
}

/* ---- the report ---- */

static struct value parties_value(const struct parties *parties, const struct diagnosis *d,
				  struct report *r)
{
	static const struct column columns[] = {
		{ .name = "duty" }, { .name = "end" }, { .name = "connections" },
		{ .name = "pid" }, { .name = "doing" }, { .name = "why" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(parties, p)
		TABLE_ADD(t, value_string(limits_duty_name(p->duty)),
			  value_string(limits_end_name(p->end)), value_u64(p->connections),
			  p->pid ? value_u64(p->pid) : value_null(),
			  p->why ? value_null() :
				   value_object(thread_profile_object(d, &p->profile, r)),
			  value_string(p->why));
	return value_table(t);
}

static void party_put_finding(const struct party *p, const struct diagnosis *d, struct report *r)
{
	const char *end = limits_end_name(p->end);
	char buf[HUMAN_MAX];

	if (p->why && p->duty == LIMITS_READ)
		report_finding(r,
			       "It is unknown why the %s did not read received data in time (%s).",
			       end, p->why);
	else if (p->why)
		report_finding(r,
			       "It is unknown what the %s did while connections waited for its "
			       "data (%s).",
			       end, p->why);
	else if (p->duty == LIMITS_READ)
		report_finding(r, "Thread %s of the %s did not read received data in time: during "
			       "these %s, it was %s.",
			       thread_profile_name(d, &p->profile, r), end,
			       human_ns(buf, p->profile.total_ns),
			       thread_profile_phrase(d, &p->profile, r));
	else
		report_finding(r, "Connections waited for data from thread %s of the %s: during "
			       "these %s, it was %s.",
			       thread_profile_name(d, &p->profile, r), end,
			       human_ns(buf, p->profile.total_ns),
			       thread_profile_phrase(d, &p->profile, r));
}

/*
 * Returns whether a party is at fault: a thread of either end that did not read in time, or a
 * server's thread that did not write. A client that does not write has merely no further requests,
 * and a server whose thread sleeps until something arrives has none to answer.
 */
static bool party_is_at_fault(const struct party *p, const struct diagnosis *d, struct report *r)
{
	if (p->duty == LIMITS_READ)
		return true;
	return p->end == LIMITS_SERVER &&
	       (p->why || !thread_profile_waits_for_input(d, &p->profile, r));
}

/* Adds a finding about the first thread that is at fault. */
static void parties_put_finding(const struct parties *parties, const struct diagnosis *d,
				struct report *r)
{
	const struct party *said = NULL;

	vec_for_each(parties, p)
		if (!said && party_is_at_fault(p, d, r))
			said = p;
	if (said)
		party_put_finding(said, d, r);
}

static int explain_conns_add_parties(struct explain_conns *e, const struct diagnosis *d,
				     struct object *o, struct report *r)
{
	struct parties parties;
	int err;

	vec_init(&parties, 2 * LIMITS_DUTIES_MAX);
	err = parties_find(e, d, &parties);
	if (!err) {
		object_add(o, "responsible", parties_value(&parties, d, r));
		parties_put_finding(&parties, d, r);
	}
	if (!err && e->limits.beyond)
		report_reason(r, "limits-left-out", NULL,
			      "thread activity covers only the first %u intervals in which "
			      "connections waited for a thread", LIMITS_STRETCHES_MAX);
	vec_for_each(&parties, p)
		thread_profile_release(&p->profile);
	vec_release(&parties);
	return err;
}

static void explain_conns_add_problems(const struct explain_conns *e, struct report *r,
				       const struct report *document)
{
	const struct item *item = document->findings.first;

	if (!e->limits.ends[LIMITS_SERVER].troubled && !e->limits.ends[LIMITS_CLIENT].troubled)
		report_finding(r, "%s", document->headline);
	for (unsigned int i = 0; item && i < PROBLEMS_SAID; i++, item = item->next)
		report_finding(r, "%s", item->string);
	difference_add_reasons(r, document, "connections");
}

int explain_conns_report(struct explain_conns *e, const struct diagnosis *d, struct report *r,
			 struct report *document)
{
	struct object *o = object_new(r);
	int err;

	object_add(&r->body, "limits", value_object(o));
	object_add(o, "why", value_string(e->why));
	if (e->why) {
		object_add(o, "ends", value_null());
		object_add(o, "responsible", value_null());
		report_finding(r, "What limits the connections: n/a (%s).", e->why);
		return report_error(r);
	}
	object_add(o, "ends", limits_ends(&e->limits, r));
	limits_findings(&e->limits, r);
	err = conns_report(e->conns, CONNS_TOTAL, document);
	if (!err)
		explain_conns_add_problems(e, r, document);
	if (!err)
		err = explain_conns_add_parties(e, d, o, r);
	return err ? err : report_error(r);
}
