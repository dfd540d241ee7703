/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/peer_match.h"

#include <errno.h>
#include <stdlib.h>

#include "conns/join.h"
#include "conns/state.h"

static const struct {
	const char *name, *text;
} whys[PEER_MATCH_WHYS] = {
	[PEER_MATCH_NO_ADDRESS] = { "no-address", "the addresses are unknown" },
	[PEER_MATCH_NOT_FOUND] = { "not-found", "no connection in the other recording has these "
						"addresses: the peer is another host, or NAT "
						"changes an address" },
	[PEER_MATCH_OTHER_TIME] = { "other-time", "the other recording's connection with these "
						  "addresses existed at another time" },
	[PEER_MATCH_NO_SEQUENCES] = { "no-sequence-numbers",
				      "sequence numbers were not recorded, as with inet_diag" },
	[PEER_MATCH_TOO_FAST] = { "too-fast", "between the two hosts' readings, the connection may "
					      "have moved more data than sequence numbers can "
					      "show" },
	[PEER_MATCH_SEQUENCES] = { "sequences-differ", "the other recording's connection with "
						       "these addresses has other sequence "
						       "numbers" },
	[PEER_MATCH_BYTES] = { "bytes-differ", "the other recording's connection with these "
					       "addresses moved another number of bytes" },
	[PEER_MATCH_JOINED_THERE] = { "joined-there",
				      "the matching connection has both ends on the other host" },
	[PEER_MATCH_AMBIGUOUS] = { "ambiguous", "several connections match" },
	[PEER_MATCH_SAME_HOST] = { "same-host", "both ends are in one recording" },
};

const char *peer_match_why_name(enum peer_match_why why)
{
	return whys[why].name;
}

const char *peer_match_why_text(enum peer_match_why why)
{
	return whys[why].text;
}

/* ---- one pair ---- */

static bool peer_match_overlaps(const struct event_conn *a, const struct event_conn *b,
				uint64_t error_ns)
{
	return a->from <= b->to + error_ns && b->from <= a->to + error_ns;
}

/* Returns why two ends do not match, or PEER_MATCH_WHYS if they match. */
static enum peer_match_why peer_match_reason(const struct event_conn *a, const struct event_conn *b,
			       uint64_t error_ns)
{
	enum join_fit end, begin;

	if (!peer_match_overlaps(a, b, error_ns))
		return PEER_MATCH_OTHER_TIME;
	if (!join_has_sequences(a) || !join_has_sequences(b))
		return PEER_MATCH_NO_SEQUENCES;
	end = join_fit_end(a, b, error_ns);
	begin = join_fit_begin(a, b, error_ns);
	if (end == JOIN_CONTRADICTS)
		return PEER_MATCH_SEQUENCES;
	if (begin == JOIN_CONTRADICTS)
		return PEER_MATCH_BYTES;
	return end == JOIN_FITS && begin == JOIN_FITS ? PEER_MATCH_WHYS : PEER_MATCH_TOO_FAST;
}

/*
 * Returns the only connection of `in` that matches connection `conn` of `of`, as index + 1; or 0
 * with the reason in *why. A match that is joined on its own host counts, but is not returned.
 */
static uint32_t peer_match_find_only(const struct conns *of, uint32_t conn, struct conns *in,
				     uint64_t error_ns, enum peer_match_why *why)
{
	const struct event_flow *flow = conns_flow_of(of, &of->all.items[conn]);
	struct event_conn own, other;
	uint32_t found = 0, at = 0;

	*why = flow ? PEER_MATCH_NOT_FOUND : PEER_MATCH_NO_ADDRESS;
	conn_unpack(&of->all.items[conn], &own);
	while (flow && (at = conns_reversed(in, flow, at))) {
		enum peer_match_why this;

		conn_unpack(&in->all.items[at - 1], &other);
		this = peer_match_reason(&own, &other, error_ns);
		if (this != PEER_MATCH_WHYS) {
			*why = this > *why ? this : *why;
			continue;
		}
		*why = found ? PEER_MATCH_AMBIGUOUS : PEER_MATCH_JOINED_THERE;
		if (found)
			return 0;
		found = at;
	}
	return found && !in->all.items[found - 1].peer ? found : 0;
}

/* ---- all connections ---- */

static enum peer_match_why peer_match_join(struct peer_recording *e, struct conns *here,
					   uint32_t conn)
{
	const uint64_t error_ns = e->error_ns + PEER_MATCH_CLOCKS_NS;
	enum peer_match_why why, back;
	uint32_t found;

	if (here->all.items[conn].peer)
		return PEER_MATCH_SAME_HOST;
	found = peer_match_find_only(here, conn, e->c, error_ns, &why);
	if (!found)
		return why;
	if (peer_match_find_only(e->c, found - 1, here, error_ns, &back) != conn + 1)
		return PEER_MATCH_AMBIGUOUS;
	e->other[conn] = found;
	return PEER_MATCH_WHYS;
}

static int peer_match_compare(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/*
 * Returns how far two hosts' clocks differ in ns, as a connection shows it: by how much the two
 * recorded begins of the connection differ beyond a round trip, or 0.
 */
static int64_t peer_match_begin_distance(const struct event_conn *here,
					 const struct event_conn *there)
{
	const int64_t apart = (int64_t)(there->from - here->from);
	const uint32_t rtt_us = here->rtt_us > there->rtt_us ? here->rtt_us : there->rtt_us;
	const int64_t rtt_ns = (int64_t)rtt_us * 1000;

	return apart > rtt_ns ? apart - rtt_ns : apart < -rtt_ns ? apart + rtt_ns : 0;
}

/* Estimates the difference of the two hosts' clocks from connections whose begin both recorded. */
static int peer_match_compare_clocks(struct peer_recording *e, const struct conns *here)
{
	int64_t *apart = calloc(e->joined + 1, sizeof(*apart));
	struct event_conn a, b;
	size_t n = 0;

	if (!apart)
		return -ENOMEM;
	for (uint32_t i = 0; i < here->all.len; i++) {
		if (!e->other[i])
			continue;
		conn_unpack(&here->all.items[i], &a);
		conn_unpack(&e->c->all.items[e->other[i] - 1], &b);
		if (a.flags & b.flags & CONN_BEGAN)
			apart[n++] = peer_match_begin_distance(&a, &b);
	}
	qsort(apart, n, sizeof(*apart), peer_match_compare);
	e->began_both = n;
	e->began_apart_ns = n ? apart[(n - 1) / 2] : 0;
	free(apart);
	return 0;
}

int peer_match_new(struct peer_recording **out, struct conns *here, struct conns *there,
	       const struct peer_match_config *config)
{
	struct peer_recording *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e)
		return err;
	*e = (struct peer_recording){
		.c = there, .here = config->here, .there = config->there,
		.error_ns = config->error_ns,
		.other = calloc(here->all.len + 1, sizeof(*e->other)),
		.not_joined = calloc(PEER_MATCH_WHYS, sizeof(*e->not_joined)),
	};
	if (!e->other || !e->not_joined)
		goto out;
	for (uint32_t i = 0; i < here->all.len; i++) {
		enum peer_match_why why;

		if (!here->all.items[i].used)
			continue;
		why = peer_match_join(e, here, i);
		if (why == PEER_MATCH_WHYS)
			e->joined++;
		else
			e->not_joined[why]++;
	}
	err = peer_match_compare_clocks(e, here);
out:
	if (err) {
		peer_match_free(e, here);
		return err;
	}
	here->peer_recording = e;
	*out = e;
	return 0;
}

void peer_match_free(struct peer_recording *e, struct conns *here)
{
	if (!e)
		return;
	here->peer_recording = NULL;
	free(e->other);
	free(e->not_joined);
	free(e);
}
