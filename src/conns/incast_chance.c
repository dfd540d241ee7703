/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/incast_chance.h"

#include <errno.h>
#include <string.h>

#include "base/sort.h"
#include "stats/special.h"

int incast_chance_add(struct conns *c, const struct conn_receiver *receiver, uint32_t bursts,
		      bool together)
{
	const int err = vec_push(&c->lost_before, (struct conn_lost_before){
		.receiver = *receiver, .to_ns = c->periods[CONNS_INTERVAL].to_ns,
		.bursts = bursts, .together = together });

	if (err != -E2BIG)
		return err;
	for (int span = 0; span < CONNS_SPANS; span++)
		c->periods[span].beyond++;
	return 0;
}

static int incast_chance_compare(const void *x, const void *y)
{
	const struct conn_lost_before *a = x, *b = y;

	return memcmp(&a->receiver, &b->receiver, sizeof(a->receiver)) ?:
	       sort_order(a->to_ns, b->to_ns);
}

/* Returns the begin of the time over which bursts are counted. */
static uint64_t incast_chance_from(const struct conns *c)
{
	const struct conns_period *now = &c->periods[CONNS_INTERVAL];
	const uint64_t minute = now->to_ns > INCAST_MINUTE_NS ? now->to_ns - INCAST_MINUTE_NS : 0;
	const uint64_t begin = c->periods[CONNS_TOTAL].from_ns;
	const uint64_t from = begin > minute ? begin : minute;

	return from < now->from_ns ? from : now->from_ns;
}

/* Adds up a receiver's bursts from `at` on; returns the index of the next receiver. */
static size_t incast_chance_sum(const struct conns *c, size_t at, uint64_t *bursts)
{
	const struct conn_receiver *receiver = &c->lost_before.items[at].receiver;

	*bursts = 0;
	for (; at < c->lost_before.len; at++) {
		const struct conn_lost_before *past = &c->lost_before.items[at];

		if (memcmp(&past->receiver, receiver, sizeof(*receiver)) != 0)
			break;
		*bursts += past->together ? 0 : past->bursts;
	}
	return at;
}

void incast_chance_sort(struct conns *c)
{
	const uint64_t from = incast_chance_from(c);
	uint64_t bursts;
	size_t kept = 0;

	vec_for_each(&c->lost_before, past)
		if (past->to_ns > from)
			c->lost_before.items[kept++] = *past;
	c->lost_before.len = kept;
	c->losing_receivers[0] = c->losing_receivers[1] = 0;
	if (!kept)
		return;
	qsort(c->lost_before.items, kept, sizeof(*c->lost_before.items), incast_chance_compare);
	for (size_t at = 0; at < kept;) {
		const bool by_port = c->lost_before.items[at].receiver.port;

		at = incast_chance_sum(c, at, &bursts);
		c->losing_receivers[by_port] += bursts >= INCAST_MIN;
	}
}

/* Returns P(N >= n) for N ~ Poisson(mean). */
static double incast_chance_tail(uint64_t n, double mean)
{
	return n ? gamma_p((double)n, mean) : 1;
}

/*
 * Groups of Poisson bursts begin at a rate of l / (1 + l w): each has a first burst and m - 1 or
 * more that follow within w. Many groups that chance may bring singly are too many together: `like`
 * counts those of the last minute that are as large, this one included, and each number has a share
 * of 1 / (n (n + 1)) in the chance of a false report. All addresses that may have a group share
 * this chance, and so do all ports.
 */
bool incast_chance_explains(const struct conns *c, const struct conn_receiver *receiver,
			    uint32_t members, uint64_t within_ns)
{
	const uint64_t from = incast_chance_from(c), to = c->periods[CONNS_INTERVAL].to_ns;
	const uint32_t receivers = c->losing_receivers[!!receiver->port];
	uint64_t bursts = 0, like = 0;
	double others, in_window, groups, limit;
	size_t at;

	at = sort_first(i, 0, c->lost_before.len,
			memcmp(&c->lost_before.items[i].receiver, receiver,
			       sizeof(*receiver)) >= 0);
	for (; at < c->lost_before.len; at++) {
		const struct conn_lost_before *past = &c->lost_before.items[at];

		if (memcmp(&past->receiver, receiver, sizeof(*receiver)) != 0)
			break;
		bursts += past->together ? 0 : past->bursts;
		like += past->together && past->bursts >= members;
	}
	if (to <= from || members < 2)
		return true;
	/* One more than were seen: without any other burst, the rate is not known to be 0. */
	others = (double)(bursts > members ? bursts - members : 0) + 1;
	in_window = others * (double)within_ns / (double)(to - from);
	groups = others / (1 + in_window) * incast_chance_tail(members - 1, in_window);
	limit = INCAST_BY_CHANCE / (receivers ? receivers : 1);
	like = like ? like : 1;
	return !(groups * incast_chance_tail(like - 1, groups) * (double)like * (double)(like + 1) <
		 limit);
}
