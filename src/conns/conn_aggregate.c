/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/conn_aggregate.h"

#include "conns/problem.h"
#include "conns/rtt.h"
#include "conns/conn_accumulate.h"
#include "event/conn_times.h"

/*
 * Adds a connection's calls; if only one in N connections has its calls counted, they count N
 * times.
 */
static void conn_aggregate_calls(struct conn_aggregate *s, const struct event_conn *e)
{
	const double weight = e->thinned_one_in ? e->thinned_one_in : 1;

	s->estimated |= weight > 1;
	if (!conn_knows(e, CONN_KNOWS_CALLS)) {
		/* not missing under sampling: the sampled connections stand for this one */
		s->calls_missing |= weight <= 1;
		return;
	}
	s->calls_known = true;
	s->send_calls += weight * e->send_calls;
	s->recv_calls += weight * e->recv_calls;
}

static void conn_aggregate_few(struct conn_aggregate *s, const struct event_conn *e)
{
	struct event_conn ignored = { 0 };

	/* Skip connections with enough samples: their time is unknown for other reasons. */
	if (!e->unknown_ns || conn_share_out(0, e, &ignored))
		return;
	if (e->samples && !conn_is_weighted(e))
		return;
	s->few_ns += e->unknown_ns - conn_unsampled(e->unknown_ns, e);
	s->few.samples += e->samples;
	s->few.unclear_ns += e->unclear_ns;
	s->few.known = CONN_KNOWS_LOSSES;
	for (int i = 0; i < CONN_STATES; i++) {
		/*
		 * Samples in loss recovery count as congestion if no events report recovery; else
		 * its time is known from the events.
		 */
		const int as = i == CONN_AT_RECOVERY && !conn_knows(e, CONN_KNOWS_LOSSES) ?
				       CONN_AT_CWND : i;

		s->few.sampled[as] += e->sampled[i];
		s->few.sampled_ns[as] += e->sampled_ns[i];
	}
}

void conn_aggregate_finish(struct conn_aggregate *s)
{
	if (conn_share_out(s->few_ns, &s->few, &s->sum))
		s->sum.unknown_ns -= s->few_ns;
	s->few_ns = 0;
}

void conn_aggregate_add(struct conn_aggregate *s, const struct conn_view *v)
{
	if (s->connections++)
		conn_accumulate(&s->sum, v->c);
	else
		s->sum = *v->c;
	s->closed += !!(v->c->flags & CONN_CLOSED);
	s->troubled += !!v->judged.harmful;
	s->lost_ns += v->judged.lost_ns;
	for (int class = 0; class < CONN_CLASSES; class++)
		s->classes[class] += v->judged.harmful >> class & 1;
	rtt_add(&s->rtts, v->c);
	conn_aggregate_few(s, v->c);
	conn_aggregate_calls(s, v->c);
}

struct value conn_aggregate_share(const struct event_conn *sum, uint64_t ns)
{
	if (!conn_knows(sum, CONN_KNOWS_TIMES) || !conn_known_ns(sum))
		return value_null();
	return value_fraction(conn_share(sum, ns));
}
