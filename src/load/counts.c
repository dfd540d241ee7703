/* SPDX-License-Identifier: Apache-2.0 */
#include "load/counts.h"

#include "report/human.h"

/* Sums misses (replies without content). Returns false if an agent's version cannot count them. */
bool load_analysis_misses(const struct load_analysis *a, struct load_misses *out)
{
	*out = (struct load_misses){
		.completed = SUM(uint64_t, a, last.completed),
		.misses = SUM(uint64_t, a, last.misses),
	};
	for (uint32_t i = 0; i < a->config.agents; i++) {
		if (a->agents[i].seen && !(a->agents[i].last.flags & LOAD_MISSES))
			return false;
	}
	return true;
}

struct closes {
	bool known;
	uint64_t closes, resent;
};

static struct closes closes_of(const struct load_analysis *a)
{
	struct closes c = {
		.known = true, .closes = SUM(uint64_t, a, last.closes),
		.resent = SUM(uint64_t, a, last.resent),
	};

	for (uint32_t i = 0; i < a->config.agents; i++)
		c.known &= !a->agents[i].seen || a->agents[i].last.flags & LOAD_CLOSES;
	return c;
}

static void add_connections(const struct load_analysis *a, struct report *r)
{
	const struct closes c = closes_of(a);
	struct object *o = object_new(r);

	object_add(o, "server_closes", c.known ? value_u64(c.closes) : value_null());
	object_add(o, "resent_requests", c.known ? value_u64(c.resent) : value_null());
	if (a->tls.handshakes) {
		object_add(o, "tls_handshakes", value_u64(a->tls.handshakes));
		object_add(o, "tls_resumed", value_u64(a->tls.resumed));
	}
	if (a->cluster.nodes) {
		object_add(o, "cluster_nodes", value_u64(a->cluster.nodes));
		object_add(o, "moved", value_u64(a->cluster.moved));
		object_add(o, "asked", value_u64(a->cluster.asked));
	}
	object_add(&r->body, "connections", value_object(o));
}

static void counts_cluster_words(const struct load_analysis *a, struct report *r)
{
	const struct cluster_counts *c = &a->cluster;
	char nodes[HUMAN_MAX], moved[HUMAN_MAX], asked[HUMAN_MAX];

	if (!c->nodes)
		return;
	report_finding(r, "cluster: %s master%s; %s request%s sent again after MOVED, %s after ASK",
		       human_count(nodes, c->nodes), c->nodes == 1 ? "" : "s",
		       human_count(moved, c->moved), c->moved == 1 ? " was" : "s were",
		       human_count(asked, c->asked));
}

void counts_words(const struct load_analysis *a, struct report *r)
{
	const struct closes c = closes_of(a);
	char closes[HUMAN_MAX], resent[HUMAN_MAX];

	counts_cluster_words(a, r);
	if (a->tls.resumed)
		report_finding(r, "connections: %s of %s TLS handshakes resumed a session",
			       human_count(resent, a->tls.resumed),
			       human_count(closes, a->tls.handshakes));
	if (c.known && c.closes)
		report_finding(r, "connections: the server closed %s connection%s after a reply "
			       "(it may limit the requests per connection); %s unanswered "
			       "request%s sent again on another connection",
			       human_count(closes, c.closes), c.closes == 1 ? "" : "s",
			       human_count(resent, c.resent), c.resent == 1 ? " was" : "s were");
}

/*
 * Returns the number of sent requests. Only samples show whether a failed request was sent, so the
 * number is null (unknown) if requests failed and samples are missing.
 */
static struct value counts_sent(const struct load_analysis *a)
{
	const uint64_t failed = SUM(uint64_t, a, last.failed);
	const uint64_t others = SUM(uint64_t, a, last.completed) +
		SUM(uint64_t, a, last.in_flight);

	if (failed && (SUM(uint64_t, a, last.samples_lost) || a->never_sent > failed))
		return value_null();
	return value_u64(others + failed - (failed ? a->never_sent : 0));
}

void counts_report(const struct load_analysis *a, struct report *r)
{
	const uint64_t completed = SUM(uint64_t, a, last.completed);
	const uint64_t failed = SUM(uint64_t, a, last.failed);
	const uint64_t unsent = SUM(uint64_t, a, last.unsent);
	const uint64_t in_flight = SUM(uint64_t, a, last.in_flight);
	struct object *o = object_new(r);
	struct load_misses misses;

	object_add(o, "scheduled", value_u64(SUM(uint64_t, a, last.scheduled)));
	object_add(o, "sent", counts_sent(a));
	object_add(o, "completed", value_u64(completed));
	object_add(o, "failed", value_u64(failed));
	object_add(o, "unsent", value_u64(unsent));
	object_add(o, "in_flight", value_u64(in_flight));
	object_add(o, "misses", load_analysis_misses(a, &misses) ? value_u64(misses.misses) :
								   value_null());
	object_add(o, "timeouts", value_u64(SUM(uint64_t, a, last.timeouts)));
	object_add(o, "resets", value_u64(SUM(uint64_t, a, last.resets)));
	object_add(o, "refused", value_u64(SUM(uint64_t, a, last.refused)));
	object_add(o, "garbled", value_u64(SUM(uint64_t, a, last.garbled)));
	object_add(o, "retransmitted", a->config.stamps == STAMPS_USER ? value_null() :
							value_u64(a->retransmitted));
	object_add(o, "connects", value_u64(SUM(uint64_t, a, last.connects)));
	object_add(o, "bytes_sent", value_u64(SUM(uint64_t, a, last.bytes_sent)));
	object_add(o, "bytes_received", value_u64(SUM(uint64_t, a, last.bytes_received)));
	object_add(&r->body, "requests", value_object(o));
	add_connections(a, r);
}
