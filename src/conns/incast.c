/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/incast.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sort.h"
#include "report/human.h"

struct loser {
	const struct event_flow *flow;
	uint64_t write, loss;
	uint32_t conn;
	bool at_receiver;
};

/* Returns whether the peer's address is a loopback address, which each namespace has. */
static bool incast_is_loopback(const struct event_flow *f)
{
	static const uint8_t one[16] = { [15] = 1 };

	return f->family == AF_INET ? f->remote[0] == 127 : !memcmp(f->remote, one, sizeof(one));
}

/* Orders flows by local address, the receiver's, then namespace: namespaces repeat addresses. */
static int incast_compare_own(const struct event_flow *a, const struct event_flow *b)
{
	int order = a->family - b->family;

	if (!order)
		order = memcmp(a->local, b->local, sizeof(a->local));
	if (!order && a->netns_cookie != b->netns_cookie)
		order = a->netns_cookie < b->netns_cookie ? -1 : 1;
	return order;
}

static int incast_compare_remotes(const struct event_flow *a, const struct event_flow *b)
{
	int order = a->family - b->family;

	if (!order)
		order = memcmp(a->remote, b->remote, sizeof(a->remote));
	if (!order && incast_is_loopback(a) && a->netns_cookie != b->netns_cookie)
		order = a->netns_cookie < b->netns_cookie ? -1 : 1;
	return order;
}

static int incast_compare_receivers(const struct loser *a, const struct loser *b)
{
	if (a->at_receiver != b->at_receiver)
		return a->at_receiver ? 1 : -1;
	return a->at_receiver ? incast_compare_own(a->flow, b->flow)
			      : incast_compare_remotes(a->flow, b->flow);
}

static int incast_compare_writes(const void *x, const void *y)
{
	const struct loser *a = x, *b = y;
	const int order = incast_compare_receivers(a, b);

	if (order)
		return order;
	return sort_order(a->write, b->write) ?: sort_order(a->conn, b->conn);
}

static int incast_compare_losses(const void *x, const void *y)
{
	const struct loser *a = x, *b = y;

	return sort_order(a->loss, b->loss) ?: sort_order(a->conn, b->conn);
}

int incast_add(struct conns *c, const struct conn *conn, const struct event_conn *e)
{
	const uint32_t at = (uint32_t)(conn - c->all.items);
	int err = 0;

	/*
	 * Ignore bursts with spurious retransmissions only: a queue that only delays packets causes
	 * these.
	 */
	if (e->write_first && e->loss_first >= e->write_first &&
	    e->loss_first - e->write_first <= INCAST_BURST_NS && !conn_all_spurious(e))
		err = vec_push(&c->bursts, (struct conn_lost_burst){
			.conn = at, .write = e->write_first, .loss = e->loss_first });
	if (!err && e->lost_reply) /* time of the request: the loss itself was not seen */
		err = vec_push(&c->bursts, (struct conn_lost_burst){
			.conn = at, .at_receiver = true, .write = e->lost_reply,
			.loss = e->lost_reply });
	if (err != -E2BIG)
		return err;
	for (int span = 0; span < CONNS_SPANS; span++)
		c->periods[span].beyond++;
	return 0;
}

static size_t incast_gather(const struct conns *c, struct loser *out)
{
	size_t n = 0;

	vec_for_each(&c->bursts, burst) {
		const struct event_flow *flow = conns_flow_of(c, &c->all.items[burst->conn]);

		if (flow && flow->family)
			out[n++] = (struct loser){ .flow = flow, .write = burst->write,
						   .loss = burst->loss, .conn = burst->conn,
						   .at_receiver = burst->at_receiver };
	}
	return n;
}

/* ---- storing ---- */

/*
 * Adds an incast episode to the totals, which have one entry per connection and side: the largest
 * episode and the number of episodes.
 */
static int incast_add_to_total(struct conns *c, const struct conn_cross *cross)
{
	vec_for_each(&c->crosses[CONNS_TOTAL], old) {
		const uint32_t episodes = old->episodes + 1;

		if (old->conn != cross->conn || old->at_receiver != cross->at_receiver)
			continue;
		if (cross->members > old->members)
			*old = *cross;
		old->episodes = episodes;
		return 0;
	}
	return vec_push(&c->crosses[CONNS_TOTAL], *cross);
}

static int incast_add_cross(struct conns *c, const struct conn_cross *cross)
{
	int err = vec_push(&c->crosses[CONNS_INTERVAL], *cross);

	if (!err)
		err = incast_add_to_total(c, cross);
	if (err != -E2BIG)
		return err;
	for (int span = 0; span < CONNS_SPANS; span++)
		c->periods[span].beyond++;
	return 0;
}

static int incast_compare_conns(const void *x, const void *y)
{
	const struct loser *a = x, *b = y;

	return sort_order(a->conn, b->conn) ?: sort_order(a->loss, b->loss);
}

/* Reduces `losers` to the first loss of each connection; returns their number. */
static size_t incast_first_of_each(struct loser *losers, size_t n)
{
	size_t n_first = 0;

	qsort(losers, n, sizeof(*losers), incast_compare_conns);
	for (size_t i = 0; i < n; i++)
		if (!n_first || losers[n_first - 1].conn != losers[i].conn)
			losers[n_first++] = losers[i];
	return n_first;
}

static int incast_compare_peers(const void *x, const void *y)
{
	const struct loser *a = x, *b = y;

	return incast_compare_remotes(a->flow, b->flow);
}

/* Returns the number of different remote hosts of the connections. Reorders `losers`. */
static size_t incast_count_peers(struct loser *losers, size_t n)
{
	size_t remotes = 0;

	qsort(losers, n, sizeof(*losers), incast_compare_peers);
	for (size_t i = 0; i < n; i++)
		remotes += !i || incast_compare_peers(&losers[i - 1], &losers[i]);
	return remotes;
}

/*
 * Returns whether too few peers replied late to a receiver for an incast: these peers or their
 * paths may have stalled. At the senders, losses are observed, so the number of peers does not
 * matter.
 */
static bool incast_has_too_few_peers(struct loser *losers, size_t n)
{
	return losers->at_receiver && incast_count_peers(losers, n) < INCAST_MIN;
}

/*
 * Stores an incast: the largest subset of `together`, connections that began to write together,
 * that lost packets within INCAST_LOSS_NS. It needs INCAST_MIN connections. Reorders `together`.
 */
static int incast_judge(struct conns *c, struct loser *together, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0, loss_within;
	size_t at = 0, most = 0;
	int err = 0;

	n = incast_first_of_each(together, n);
	qsort(together, n, sizeof(*together), incast_compare_losses);
	for (size_t i = 0, j = 0; i < n; i++) {
		while (j < n && together[j].loss - together[i].loss <= INCAST_LOSS_NS)
			j++;
		if (j - i > most) {
			most = j - i;
			at = i;
		}
	}
	if (most < INCAST_MIN)
		return 0;
	loss_within = together[at + most - 1].loss - together[at].loss;
	if (incast_has_too_few_peers(together + at, most))
		return 0;
	for (size_t i = at; i < at + most; i++) {
		first = together[i].write < first ? together[i].write : first;
		last = together[i].write > last ? together[i].write : last;
	}
	for (size_t i = at; i < at + most && !err; i++)
		err = incast_add_cross(c, &(struct conn_cross){
			.conn = together[i].conn, .class = CONN_INCAST, .members = (uint32_t)most,
			.episodes = 1, .write_within_ns = last - first,
			.at_receiver = together[i].at_receiver,
			.loss_within_ns = loss_within });
	return err;
}

int incast_find(struct conns *c)
{
	struct loser *all = calloc(c->bursts.len + 1, sizeof(*all));
	size_t n, end;
	int err = 0;

	if (!all)
		return -ENOMEM;
	n = incast_gather(c, all);
	qsort(all, n, sizeof(*all), incast_compare_writes);
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i + 1; end < n; end++)
			if (incast_compare_receivers(&all[i], &all[end]) ||
			    all[end].write - all[i].write > INCAST_WRITE_NS)
				break;
		err = incast_judge(c, all + i, end - i);
	}
	free(all);
	return err;
}

static void incast_explain_receiver(const struct conn_cross *cross, struct conn_finding *t)
{
	char a[HUMAN_MAX];

	strbuf_printf(&t->message, "requests on %" PRIu32 " connections, sent within %s, were "
		      "acknowledged at least %u ms late and only by the reply; inferred: the "
		      "replies were lost, or the path or the peers stalled", cross->members,
		      human_ns(a, cross->write_within_ns), CONN_LATE_US / 1000);
	strbuf_puts(&t->advice, "if replies were lost, the queue that they share was full: request "
		    "less data at once, or spread the requests");
}

void incast_explain(const struct conn_cross *cross, struct conn_finding *t)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	object_add(t->evidence, "side", value_string(cross->at_receiver ? "receiver" : "sender"));
	object_add(t->evidence, "connections", value_u64(cross->members));
	object_add(t->evidence, "episodes", value_u64(cross->episodes));
	object_add(t->evidence, "write_within_ns", value_ns(cross->write_within_ns));
	object_add(t->evidence, "loss_within_ns", cross->at_receiver ? value_null() :
		   value_ns(cross->loss_within_ns));
	if (cross->at_receiver) {
		incast_explain_receiver(cross, t);
		return;
	}
	strbuf_printf(&t->message, "%" PRIu32 " connections to this receiver began to write "
		      "within %s and lost packets within %s", cross->members,
		      human_ns(a, cross->write_within_ns), human_ns(b, cross->loss_within_ns));
	strbuf_puts(&t->advice,
		    "their packets probably overflowed a queue that they share: let the "
		    "receiver request less data at once, spread the replies over a few "
		    "milliseconds, or pace them");
}
