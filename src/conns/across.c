// SPDX-License-Identifier: Apache-2.0
#include "conns/across.h"

#include <errno.h>
#include <stdlib.h>

#include "conns/join.h"
#include "conns/state.h"

static const struct {
	const char *name, *text;
} whys[ACROSS_WHYS] = {
	[ACROSS_NO_ADDRESS] = { "no-address", "addresses that are not told" },
	[ACROSS_NOT_FOUND] = { "not-found", "none with these addresses there: the other end is "
			       "elsewhere, or an address is translated on the way (NAT)" },
	[ACROSS_OTHER_TIME] = { "other-time", "one with these addresses, at another time" },
	[ACROSS_NO_SEQUENCES] = { "no-sequence-numbers", "no sequence numbers to tell by, as from "
				  "inet_diag" },
	[ACROSS_UNTOLD] = { "too-fast", "more may have moved between the two hosts' readings than "
			    "sequence numbers tell" },
	[ACROSS_SEQUENCES] = { "sequences-differ", "one with these addresses, of other sequence "
			       "numbers" },
	[ACROSS_BYTES] = { "bytes-differ", "one with these addresses, of another number of bytes" },
	[ACROSS_TAKEN] = { "joined-there", "one whose other end is on its own host" },
	[ACROSS_AMBIGUOUS] = { "ambiguous", "several that fit" },
	[ACROSS_SAME_HOST] = { "same-host", "both ends in one recording" },
};

const char *across_why_name(enum across_why why)
{
	return whys[why].name;
}

const char *across_why_text(enum across_why why)
{
	return whys[why].text;
}

/* -- two of them ---------------------------------------------------------------------------- */

static bool overlap(const struct event_conn *a, const struct event_conn *b, uint64_t error_ns)
{
	return a->from <= b->to + error_ns && b->from <= a->to + error_ns;
}

/* ACROSS_WHYS: they fit. */
static enum across_why why_not(const struct event_conn *a, const struct event_conn *b,
			       uint64_t error_ns)
{
	enum join_fit end, begin;

	if (!overlap(a, b, error_ns))
		return ACROSS_OTHER_TIME;
	if (!join_has_sequences(a) || !join_has_sequences(b))
		return ACROSS_NO_SEQUENCES;
	end = join_fit_end(a, b, error_ns);
	begin = join_fit_begin(a, b, error_ns);
	if (end == JOIN_CONTRADICTS)
		return ACROSS_SEQUENCES;
	if (begin == JOIN_CONTRADICTS)
		return ACROSS_BYTES;
	return end == JOIN_FITS && begin == JOIN_FITS ? ACROSS_WHYS : ACROSS_UNTOLD;
}

/*
 * The only connection of `in` that fits to one of `of`, as index + 1; 0: *why not. One that is
 * joined on its own host counts as well: if it fits, somebody's addresses are not his alone.
 */
static uint32_t only_one(const struct conns *of, uint32_t conn, struct conns *in,
			 uint64_t error_ns, enum across_why *why)
{
	const struct event_flow *flow = conns_flow_of(of, &of->all.items[conn]);
	struct event_conn own, other;
	uint32_t found = 0, at = 0;

	*why = flow ? ACROSS_NOT_FOUND : ACROSS_NO_ADDRESS;
	conn_unpack(&of->all.items[conn], &own);
	while (flow && (at = conns_reversed(in, flow, at))) {
		enum across_why this;

		conn_unpack(&in->all.items[at - 1], &other);
		this = why_not(&own, &other, error_ns);
		if (this != ACROSS_WHYS) {
			*why = this > *why ? this : *why;
			continue;
		}
		*why = found ? ACROSS_AMBIGUOUS : ACROSS_TAKEN;
		if (found)
			return 0;
		found = at;
	}
	return found && !in->all.items[found - 1].peer ? found : 0;
}

/* -- all of them ---------------------------------------------------------------------------- */

static enum across_why join(struct conns_elsewhere *e, struct conns *here, uint32_t conn)
{
	const uint64_t error_ns = e->error_ns + ACROSS_CLOCKS_NS;
	enum across_why why, back;
	uint32_t found;

	if (here->all.items[conn].peer)
		return ACROSS_SAME_HOST;
	found = only_one(here, conn, e->c, error_ns, &why);
	if (!found)
		return why;
	if (only_one(e->c, found - 1, here, error_ns, &back) != conn + 1)
		return ACROSS_AMBIGUOUS;
	e->other[conn] = found;
	return ACROSS_WHYS;
}

static int by_value(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Of two beginnings one is up to a round trip later: what goes beyond that is the clocks'. */
static int64_t began_apart(const struct event_conn *here, const struct event_conn *there)
{
	const int64_t apart = (int64_t)(there->from - here->from);
	const uint32_t rtt_us = here->rtt_us > there->rtt_us ? here->rtt_us : there->rtt_us;
	const int64_t rtt_ns = (int64_t)rtt_us * 1000;

	return apart > rtt_ns ? apart - rtt_ns : apart < -rtt_ns ? apart + rtt_ns : 0;
}

/* How far the two hosts' clocks are apart, as far as connections tell. */
static int compare_clocks(struct conns_elsewhere *e, const struct conns *here)
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
			apart[n++] = began_apart(&a, &b);
	}
	qsort(apart, n, sizeof(*apart), by_value);
	e->began_both = n;
	e->began_apart_ns = n ? apart[(n - 1) / 2] : 0;
	free(apart);
	return 0;
}

int across_new(struct conns_elsewhere **out, struct conns *here, struct conns *there,
	       const struct across_config *config)
{
	struct conns_elsewhere *e = calloc(1, sizeof(*e));
	int err = -ENOMEM;

	if (!e)
		return err;
	*e = (struct conns_elsewhere){
		.c = there, .here = config->here, .there = config->there,
		.error_ns = config->error_ns,
		.other = calloc(here->all.len + 1, sizeof(*e->other)),
		.not_joined = calloc(ACROSS_WHYS, sizeof(*e->not_joined)),
	};
	if (!e->other || !e->not_joined)
		goto out;
	for (uint32_t i = 0; i < here->all.len; i++) {
		enum across_why why;

		if (!here->all.items[i].used)
			continue;
		why = join(e, here, i);
		if (why == ACROSS_WHYS)
			e->joined++;
		else
			e->not_joined[why]++;
	}
	err = compare_clocks(e, here);
out:
	if (err) {
		across_free(e, here);
		return err;
	}
	here->elsewhere = e;
	*out = e;
	return 0;
}

void across_free(struct conns_elsewhere *e, struct conns *here)
{
	if (!e)
		return;
	here->elsewhere = NULL;
	free(e->other);
	free(e->not_joined);
	free(e);
}
