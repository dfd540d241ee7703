/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/peer_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "conns/peer_match.h"
#include "conns/bottleneck.h"
#include "conns/words.h"
#include "report/human.h"

#define SENTENCES 6u

/* ---- counts ---- */

/*
 * Returns whether the begins of connections in both recordings show that the hosts' clocks differ
 * by more than PEER_MATCH_CLOCKS_NS and the error bound of the recordings' clock shift.
 */
static bool peer_report_clocks_differ(const struct peer_recording *e)
{
	return e->began_both &&
	       (uint64_t)llabs(e->began_apart_ns) > PEER_MATCH_CLOCKS_NS + e->error_ns;
}

static uint64_t peer_report_not_joined(const struct peer_recording *e)
{
	uint64_t n = 0;

	for (int why = 0; why < PEER_MATCH_SAME_HOST; why++)
		n += e->not_joined[why];
	return n;
}

/*
 * Counts the other recording's connections that match no connection of this recording and none of
 * their own host.
 */
static uint64_t peer_report_left_there(const struct peer_recording *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->c->all.len; i++)
		n += e->c->all.items[i].used && !e->c->all.items[i].peer;
	return n - e->joined;
}

/* Counts matched connections whose common time is too short to judge them. */
static uint64_t peer_report_hardly_common(const struct conns *c)
{
	struct conn_view_buf room;
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->all.len; i++)
		n += conns_view_peer(c, i, &room) && !room.view.peer;
	return n;
}

static struct value peer_report_host_value(const struct conns_host *host, struct report *r)
{
	struct object *o = object_new(r);

	object_add(o, "host", value_string(host->name));
	object_add(o, "recorded_ns", value_ns(host->length_ns));
	return value_object(o);
}

static struct value peer_report_reasons_value(const struct peer_recording *e, struct report *r)
{
	static const struct column columns[] = { { .name = "reason" }, { .name = "count" } };
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (enum peer_match_why why = 0; why < PEER_MATCH_SAME_HOST; why++)
		if (e->not_joined[why])
			TABLE_ADD(t, value_string(peer_match_why_name(why)),
				  value_u64(e->not_joined[why]));
	return value_table(t);
}

const char *peer_report_host(const struct conns *c)
{
	const char *name = c->peer_recording->there.name;

	return *name ? name : "an unnamed host";
}

void peer_report_joined(const struct conns *c, struct report *r)
{
	const struct peer_recording *e = c->peer_recording;
	struct object *o;

	if (!e)
		return;
	o = object_new(r);
	object_add(o, "here", peer_report_host_value(&e->here, r));
	object_add(o, "there", peer_report_host_value(&e->there, r));
	object_add(o, "common_ns", value_ns(c->window.to - c->window.from));
	object_add(o, "clock_error_ns", value_ns(e->error_ns));
	object_add(o, "began_both", value_u64(e->began_both));
	object_add(o, "began_apart_ns", e->began_both ? value_sns(e->began_apart_ns) :
							value_null());
	object_add(o, "connections", value_u64(e->joined));
	object_add(o, "hardly_common", value_u64(peer_report_hardly_common(c)));
	object_add(o, "same_host", value_u64(e->not_joined[PEER_MATCH_SAME_HOST]));
	object_add(o, "not_joined", peer_report_reasons_value(e, r));
	object_add(o, "left_there", value_u64(peer_report_left_there(e)));
	object_add(&r->body, "joined", value_object(o));
}

/* ---- sentences ---- */

static const char *peer_report_end_name(const struct conn_view *v, const char *host,
					struct report *r)
{
	const struct value address = words_local(r, v->flow);
	const char *app = words_app(v);

	return report_format(r, "%s%s%s on %s", app ? app : "", app ? ", " : "",
			     address.type == VALUE_STRING ? address.string : "?",
			     *host ? host : "an unnamed host");
}

/*
 * Adds a finding on the bottleneck of one direction, if known. Returns 1 if it added a finding,
 * else 0.
 */
static unsigned int peer_report_add_direction(const struct conn_view *v, const char *from,
					      const char *to, struct report *r)
{
	const char *sentence = bottleneck_sentence(v, r);
	char common[HUMAN_MAX];

	if (!sentence)
		return 0;
	report_finding(r, "From %s to %s: %s; both ends were recorded for %s.", from, to, sentence,
		       human_ns(common, v->common_ns));
	return 1;
}

/*
 * Adds findings on the directions of a matched connection in which data waited. Returns 1 if it
 * added any, else 0.
 */
static unsigned int peer_report_add_conn(const struct conns *c, const struct conn_selection *s,
					 const struct selected *one, struct report *r)
{
	struct conn_view_buf own, other;
	const char *here, *there;
	unsigned int n = 0;

	if (!select_view_peer(c, s, one, &other) ||
	    !(one->judged.harmful | other.view.judged.harmful))
		return 0;
	select_view(c, s, one, &own);
	here = peer_report_end_name(&own.view, c->peer_recording->here.name, r);
	there = peer_report_end_name(&other.view, c->peer_recording->there.name, r);
	if (bottleneck_find(&own.view).harmful)
		n |= peer_report_add_direction(&own.view, here, there, r);
	if (bottleneck_find(&other.view).harmful)
		n |= peer_report_add_direction(&other.view, there, here, r);
	return n;
}

static void peer_report_add_unmatched(const struct conns *c, struct report *r)
{
	const struct peer_recording *e = c->peer_recording;
	const uint64_t left = peer_report_not_joined(e), hardly = peer_report_hardly_common(c);
	char n[HUMAN_MAX], all[HUMAN_MAX];

	report_finding(r, "Both ends of %s connection%s are known, from the recordings of %s and "
		       "%s.", human_count(n, e->joined), e->joined == 1 ? "" : "s",
		       *e->here.name ? e->here.name : "an unnamed host",
		       *e->there.name ? e->there.name : "an unnamed host");
	if (hardly)
		report_finding(r,
			       "For %s of these connections the two recordings overlap by less "
			       "than 80 %%, so the limiting side is unknown.",
			       human_count(n, hardly));
	for (enum peer_match_why why = 0; left && why < PEER_MATCH_SAME_HOST; why++)
		if (e->not_joined[why])
			report_finding(r, "%s of %s connection%s without a match: %s.",
				       human_count(n, e->not_joined[why]),
				       human_count(all, left), left == 1 ? "" : "s",
				       peer_match_why_text(why));
}

void peer_report_findings(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	unsigned int n = 0;

	if (!c->peer_recording)
		return;
	vec_for_each(&s->items, one)
		if (n < SENTENCES)
			n += peer_report_add_conn(c, s, one, r);
	peer_report_add_unmatched(c, r);
}

/* ---- reasons ---- */

void peer_report_reasons(const struct conns *c, struct report *r)
{
	const struct peer_recording *e = c->peer_recording;
	const struct conns_period *p;
	char apart[HUMAN_MAX];

	if (!e)
		return;
	p = &e->c->periods[CONNS_TOTAL];
	if (peer_report_clocks_differ(e))
		report_reason(r, "clocks-differ", NULL,
			      "the hosts' clocks disagree: connections "
			      "began %s apart at their two ends, so the common time is uncertain",
			      human_ns(apart, (uint64_t)llabs(e->began_apart_ns)));
	if (e->error_ns > PEER_MATCH_CLOCKS_NS)
		report_reason(r, "clock-set", NULL, "a host's clock was set during its recording: "
			      "the common time is known only to within %s",
			      human_ns(apart, e->error_ns));
	if (p->lost_records || p->refused || p->beyond || p->forgotten || p->shed || p->partial ||
	    e->c->damage.reasons)
		report_reason(r, "other-recording", NULL, "the other recording is incomplete: see "
			      "hostlat conns --from with that file");
}
