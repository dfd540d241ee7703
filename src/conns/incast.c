/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/incast.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/sort.h"
#include "conns/incast_chance.h"
#include "report/human.h"

struct loser {
	struct conn_receiver receiver;
	const struct event_flow *flow;
	uint64_t write, loss;
	uint32_t conn;
};

/* Losing bursts that began to write to one receiver within INCAST_WRITE_NS. */
struct losers_group {
	struct loser *first;           /* its members, in an array of all losers */
	size_t members;
};

struct losers_groups VEC_OF(struct losers_group);

/* Returns whether the peer's address is a loopback address, which each namespace has. */
static bool incast_is_loopback(const struct event_flow *f)
{
	static const uint8_t one[16] = { [15] = 1 };

	return f->family == AF_INET ? f->remote[0] == 127 : !memcmp(f->remote, one, sizeof(one));
}

/*
 * Returns the receiver of a flow's data: this host's address, which other namespaces may repeat, or
 * the peer's.
 */
static struct conn_receiver incast_receiver_of(const struct event_flow *f, bool at_receiver)
{
	struct conn_receiver receiver = {
		.family = f->family, .at_receiver = at_receiver,
		.netns_cookie = at_receiver || incast_is_loopback(f) ? f->netns_cookie : 0,
	};

	_Static_assert(sizeof(receiver) == sizeof(receiver.address) + 2 * sizeof(uint64_t),
		       "compared as bytes");
	memcpy(receiver.address, at_receiver ? f->local : f->remote, sizeof(receiver.address));
	return receiver;
}

static int incast_compare_receivers(const struct loser *a, const struct loser *b)
{
	return memcmp(&a->receiver, &b->receiver, sizeof(a->receiver));
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
			out[n++] = (struct loser){
				.receiver = incast_receiver_of(flow, burst->at_receiver),
				.flow = flow, .write = burst->write, .loss = burst->loss,
				.conn = burst->conn };
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
	const struct event_flow *a = ((const struct loser *)x)->flow;
	const struct event_flow *b = ((const struct loser *)y)->flow;
	const struct conn_receiver peer_a = incast_receiver_of(a, false);
	const struct conn_receiver peer_b = incast_receiver_of(b, false);

	return memcmp(&peer_a, &peer_b, sizeof(peer_a));
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
	return losers->receiver.at_receiver && incast_count_peers(losers, n) < INCAST_MIN;
}

/*
 * Adds the largest subset of `together`, connections that began to write together, that lost
 * packets within INCAST_LOSS_NS, if it has INCAST_MIN connections. Reorders `together`.
 */
static int incast_add_group(struct losers_groups *groups, struct loser *together, size_t n)
{
	size_t at = 0, most = 0;

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
	if (most < INCAST_MIN || incast_has_too_few_peers(together + at, most))
		return 0;
	return vec_push(groups, (struct losers_group){ .first = together + at, .members = most });
}

/* Finds the groups of losers and counts all losing bursts by receiver. Reorders `all`. */
static int incast_group(struct conns *c, struct loser *all, size_t n, struct losers_groups *groups)
{
	size_t from = 0, end;
	int err = 0;

	qsort(all, n, sizeof(*all), incast_compare_writes);
	for (size_t i = 1; i <= n && !err; i++) {
		if (i < n && !incast_compare_receivers(&all[from], &all[i]))
			continue;
		err = incast_chance_add(c, &all[from].receiver, (uint32_t)(i - from), false);
		from = i;
	}
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i + 1; end < n; end++)
			if (incast_compare_receivers(&all[i], &all[end]) ||
			    all[end].write - all[i].write > INCAST_WRITE_NS)
				break;
		err = incast_add_group(groups, all + i, end - i);
	}
	vec_for_each(groups, group)
		if (!err)
			err = incast_chance_add(c, &group->first->receiver,
						(uint32_t)group->members, true);
	return err;
}

/* Stores an incast. */
static int incast_add_members(struct conns *c, const struct losers_group *group)
{
	uint64_t first = UINT64_MAX, last = 0, lost = UINT64_MAX, lost_last = 0;
	const struct loser *end = group->first + group->members;
	int err = 0;

	for (const struct loser *one = group->first; one < end; one++) {
		first = one->write < first ? one->write : first;
		last = one->write > last ? one->write : last;
		lost = one->loss < lost ? one->loss : lost;
		lost_last = one->loss > lost_last ? one->loss : lost_last;
	}
	for (const struct loser *one = group->first; one < end && !err; one++)
		err = incast_add_cross(c, &(struct conn_cross){
			.conn = one->conn, .class = CONN_INCAST,
			.members = (uint32_t)group->members, .episodes = 1,
			.write_within_ns = last - first, .loss_within_ns = lost_last - lost,
			.at_receiver = one->receiver.at_receiver });
	return err;
}

static bool incast_is_by_chance(const struct conns *c, const struct losers_group *group)
{
	return incast_chance_explains(c, &group->first->receiver, (uint32_t)group->members,
				      INCAST_WRITE_NS);
}

/* Returns whether many connections share the receiver's address: several hosts may be behind. */
static bool incast_is_shared(const struct conns *c, struct conn_receiver receiver)
{
	size_t n = 0;

	receiver.port = 0;
	vec_for_each(&c->interval_records, record) {
		const struct event_flow *flow = conns_flow_of(c, &c->all.items[record->conn]);
		struct conn_receiver one;

		if (!flow || !flow->family)
			continue;
		one = incast_receiver_of(flow, false);
		n += !memcmp(&one, &receiver, sizeof(one));
	}
	return n > INCAST_SHARED;
}

static bool incast_has_member(const struct conns *c, const struct losers_group *group)
{
	vec_for_each(&c->crosses[CONNS_INTERVAL], cross)
		for (size_t i = 0; i < group->members; i++)
			if (cross->conn == group->first[i].conn && !cross->at_receiver)
				return true;
	return false;
}

static int incast_judge(struct conns *c, const struct losers_groups *addresses,
			const struct losers_groups *ports)
{
	int err = 0;

	incast_chance_sort(c);
	vec_for_each(addresses, group)
		if (!err && !incast_is_by_chance(c, group))
			err = incast_add_members(c, group);
	vec_for_each(ports, group)
		if (!err && !incast_is_by_chance(c, group) && !incast_has_member(c, group) &&
		    incast_is_shared(c, group->first->receiver))
			err = incast_add_members(c, group);
	return err;
}

/* Copies the senders' losers, with the remote port in the receiver; returns their number. */
static size_t incast_by_port(const struct loser *all, size_t n, struct loser *out)
{
	size_t senders = 0;

	for (size_t i = 0; i < n; i++) {
		if (all[i].receiver.at_receiver || !all[i].flow->remote_port)
			continue;
		out[senders] = all[i];
		out[senders++].receiver.port = all[i].flow->remote_port;
	}
	return senders;
}

int incast_find(struct conns *c)
{
	struct losers_groups addresses, ports;
	struct loser *all, *by_port;
	size_t n, n_by_port;
	int err;

	if (!c->bursts.len)
		return 0;
	all = calloc(2 * c->bursts.len, sizeof(*all));
	if (!all)
		return -ENOMEM;
	vec_init(&addresses, c->bursts.len);
	vec_init(&ports, c->bursts.len);
	n = incast_gather(c, all);
	by_port = all + n;
	n_by_port = incast_by_port(all, n, by_port);
	err = incast_group(c, all, n, &addresses);
	if (!err)
		err = incast_group(c, by_port, n_by_port, &ports);
	if (!err)
		err = incast_judge(c, &addresses, &ports);
	vec_release(&addresses);
	vec_release(&ports);
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
