/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/rules.h"

#include "base/bug.h"
#include "conns/evidence.h"
#include "conns/conn_share.h"

/*
 * Returns whether samples show, with confidence, a state for RULES_LIMITED_SHARE of the time or
 * more; stores its share, with the confidence interval, in `p->sampled`.
 */
static bool rules_is_often(const struct event_conn *c, uint64_t ns, uint32_t hits,
			   struct conn_problem *p)
{
	if (c->samples < RULES_SAMPLES_MIN || hits < RULES_SEEN_MIN)
		return false;
	p->sampled = conn_share_sampled(c, ns, hits, CONN_CONFIDENCE);
	return p->sampled.lo >= RULES_LIMITED_SHARE;
}

static bool rules_is_state_often(const struct event_conn *c, enum conn_sample_state what,
				 struct conn_problem *p)
{
	return rules_is_often(c, c->sampled_ns[what], c->sampled[what], p);
}

static bool rules_is_limit(const struct event_conn *c, uint64_t ns)
{
	return conn_share(c, ns) >= RULES_LIMITED_SHARE;
}

static bool rules_send_buffer(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_SAMPLED;
	p->harm = CONN_HARMFUL;
	p->lost_ns = v->c->send_buffer_ns;
	return rules_is_limit(v->c, v->c->send_buffer_ns) &&
	       rules_is_state_often(v->c, CONN_AT_SEND_BUFFER, p);
}

/* ---- retransmissions ---- */

static bool rules_retransmission(const struct conn_view *v, struct conn_problem *p, uint32_t events)
{
	p->confidence = CONN_OBSERVED;
	p->harm = CONN_HARMFUL;
	p->lost_ns = v->c->stall_ns;
	return events && !conn_all_spurious(v->c);
}

static bool rules_fast_retransmit(const struct conn_view *v, struct conn_problem *p)
{
	return rules_retransmission(v, p, v->c->fast_retransmit);
}

static bool rules_timeout(const struct conn_view *v, struct conn_problem *p)
{
	return rules_retransmission(v, p, v->c->rto);
}

/*
 * Returns whether tail-loss probes were sent. They are harmful only if data waited: a probe may
 * have carried new data, or found nothing lost.
 */
static bool rules_tail_loss_probe(const struct conn_view *v, struct conn_problem *p)
{
	if (!rules_retransmission(v, p, v->c->tlp))
		return false;
	if (!v->c->stall_ns)
		p->harm = CONN_HARMLESS;
	return true;
}

static bool rules_spurious(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_OBSERVED;
	p->harm = CONN_HARMLESS;
	return v->c->spurious && 2 * (uint64_t)v->c->spurious >= conn_retransmitted(v->c);
}

/* ---- windows ---- */

/* Returns whether the peer's receive buffer is full, set by the application, or still growing. */
static enum window_limit rules_window_limit(const struct event_conn *peer)
{
	if (!peer || !conn_knows(peer, CONN_KNOWS_GAUGES))
		return WINDOW_UNKNOWN;
	if (peer->unread >= RULES_SEEN_MIN ||
	    (peer->rcvbuf && peer->rcv_queue && peer->rmem >= peer->rcvbuf))
		return WINDOW_NOT_READ;
	if (peer->flags & CONN_FROM_DIAG)
		return WINDOW_UNKNOWN;
	return peer->flags & CONN_RCVBUF_SET ? WINDOW_SET : WINDOW_GROWING;
}

/*
 * Returns whether the peer's receive window limits the connection, by the kernel's own account of
 * that time if known, otherwise by samples.
 */
static bool rules_receiver_window(const struct conn_view *v, struct conn_problem *p)
{
	p->harm = CONN_HARMFUL;
	p->lost_ns = v->c->receiver_window_ns;
	p->limit = rules_window_limit(v->peer);
	p->confidence = conn_knows(v->c, CONN_KNOWS_CHRONO) ? CONN_OBSERVED : CONN_SAMPLED;
	if (!rules_is_limit(v->c, v->c->receiver_window_ns))
		return false;
	if (p->confidence == CONN_OBSERVED)
		return v->c->receiver_window_ns >= RULES_WINDOW_MIN_NS;
	return rules_is_state_often(v->c, CONN_AT_WINDOW, p);
}

static bool rules_zero_window(const struct conn_view *v, struct conn_problem *p)
{
	const bool waits = v->c->receiver_window_ns || v->c->sampled[CONN_AT_WINDOW];

	p->confidence = CONN_SAMPLED;
	p->harm = waits ? CONN_HARMFUL : CONN_HARMLESS;
	p->limit = rules_window_limit(v->peer);
	if (v->c->samples < RULES_SAMPLES_MIN || v->c->zero_windows < RULES_SEEN_MIN)
		return false;
	p->sampled = conn_share_sampled(v->c, v->c->zero_window_ns, v->c->zero_windows,
					CONN_CONFIDENCE);
	return true;
}

static bool rules_not_reading(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_SAMPLED;
	p->harm = CONN_HARMFUL;
	return rules_is_often(v->c, v->c->unread_ns, v->c->unread, p);
}

/* ---- acknowledgements and small writes ---- */

/* Returns whether the peer's record shows no delayed ACKs: ACKs were late for another reason. */
static bool rules_is_denied(const struct conn_view *v)
{
	return v->peer && conn_knows(v->peer, CONN_KNOWS_DELACKS) && !v->peer->delayed_acks;
}

static bool rules_is_confirmed(const struct conn_view *v)
{
	return v->peer && conn_knows(v->peer, CONN_KNOWS_DELACKS) && v->peer->delayed_acks;
}

/* Returns whether data was held until a late acknowledgement arrived. */
static bool rules_is_held(const struct conn_view *v, struct conn_problem *p)
{
	const struct event_conn *c = v->c;

	p->harm = CONN_HARMFUL;
	p->lost_ns = c->delayed_ack_ns;
	p->confidence = rules_is_confirmed(v) ? CONN_OBSERVED : CONN_INFERRED;
	if (rules_is_denied(v))
		return false;
	if (conn_knows(c, CONN_KNOWS_PEER_DELACKS))
		return c->delayed_acks_harmful >= RULES_DELAYED_MIN;
	p->confidence = CONN_SAMPLED;
	return conn_knows(c, CONN_KNOWS_TIMES) && rules_is_limit(c, c->delayed_ack_ns) &&
	       rules_is_state_often(c, CONN_AT_DELAYED_ACK, p);
}

static bool rules_delayed_ack(const struct conn_view *v, struct conn_problem *p)
{
	if (rules_is_held(v, p))
		return true;
	p->harm = CONN_HARMLESS;
	p->lost_ns = 0;
	p->confidence = rules_is_confirmed(v) ? CONN_OBSERVED : CONN_INFERRED;
	return conn_knows(v->c, CONN_KNOWS_PEER_DELACKS) && !rules_is_denied(v) &&
	       v->c->peer_delayed_acks >= RULES_DELAYED_MIN;
}

/* Returns whether this end delayed ACKs. Only the peer's record shows whether data waited. */
static bool rules_own_delayed_ack(const struct conn_view *v, struct conn_problem *p)
{
	const bool asked = v->peer && conn_knows(v->peer, CONN_KNOWS_PEER_DELACKS);

	p->ours = true;
	p->confidence = CONN_OBSERVED;
	p->harm = !asked ? CONN_HARM_UNKNOWN :
		  v->peer->delayed_acks_harmful ? CONN_HARMFUL : CONN_HARMLESS;
	return v->c->delayed_acks;
}

static bool rules_nagle(const struct conn_view *v, struct conn_problem *p)
{
	return !(v->c->flags & CONN_NODELAY) && rules_is_held(v, p);
}

bool rules_writes_small(const struct event_conn *c)
{
	return conn_knows(c, CONN_KNOWS_CALLS) && c->send_calls >= RULES_CALLS_MIN &&
	       2 * (uint64_t)c->send_small > c->send_calls;
}

static bool rules_small_writes(const struct conn_view *v, struct conn_problem *p)
{
	const bool held = v->c->sampled[CONN_AT_NAGLE] || v->c->sampled[CONN_AT_DELAYED_ACK];

	p->confidence = CONN_OBSERVED;
	p->harm = held ? CONN_HARMFUL :
		  conn_knows(v->c, CONN_KNOWS_TIMES) && v->c->samples >= RULES_SAMPLES_MIN ?
		  CONN_HARMLESS : CONN_HARM_UNKNOWN;
	return rules_writes_small(v->c);
}

/* ---- pauses ---- */

static bool rules_burst_after_idle(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_OBSERVED;
	p->harm = CONN_HARMFUL;
	p->lost_ns = v->c->stall_ns;
	return v->c->idle_bursts_lost && !conn_all_spurious(v->c);
}

static bool rules_slow_start_after_idle(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_OBSERVED;
	p->harm = CONN_HARMFUL;
	return v->c->idle_restarts;
}

/* ---- the table ---- */

static const struct conn_rule {
	enum conn_class class;
	uint32_t needs;                /* fields that the rule needs: enum conn_known bits */
	bool (*holds)(const struct conn_view *v, struct conn_problem *p);
	void (*explain)(struct conn_finding *finding);
} rules[] = {
	{ CONN_SEND_BUFFER, CONN_KNOWS_TIMES, rules_send_buffer, explain_send_buffer },
	{ CONN_FAST_RETRANSMIT, CONN_KNOWS_LOSSES, rules_fast_retransmit, explain_fast_retransmit },
	{ CONN_TIMEOUT, CONN_KNOWS_RTO, rules_timeout, explain_timeout },
	{ CONN_TAIL_LOSS_PROBE, CONN_KNOWS_LOSSES, rules_tail_loss_probe, explain_tail_loss_probe },
	{ CONN_SPURIOUS, CONN_KNOWS_SPURIOUS | CONN_KNOWS_LOSSES, rules_spurious,
	  explain_spurious },
	{ CONN_RECEIVER_WINDOW, CONN_KNOWS_TIMES, rules_receiver_window, explain_receiver_window },
	{ CONN_ZERO_WINDOW, CONN_KNOWS_TIMES, rules_zero_window, explain_zero_window },
	{ CONN_RECEIVER_NOT_READING, CONN_KNOWS_TIMES, rules_not_reading, explain_not_reading },
	{ CONN_DELAYED_ACK, 0, rules_delayed_ack, explain_delayed_ack },
	{ CONN_DELAYED_ACK, CONN_KNOWS_DELACKS, rules_own_delayed_ack, explain_own_delayed_ack },
	{ CONN_NAGLE, 0, rules_nagle, explain_nagle },
	{ CONN_SMALL_WRITES, CONN_KNOWS_CALLS, rules_small_writes, explain_small_writes },
	{ CONN_BURST_AFTER_IDLE, CONN_KNOWS_LOSSES, rules_burst_after_idle, explain_burst },
	{ CONN_SLOW_START_AFTER_IDLE, 0, rules_slow_start_after_idle, explain_restart },
};

_Static_assert(ARRAY_LEN(rules) <= RULES_MAX, "room for all rules");

/* Writes the problems that the rules find to out[RULES_MAX]; returns their number. */
static uint32_t rules_list(const struct conn_view *view, struct conn_problem *out)
{
	uint32_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct conn_problem p = { .class = rules[i].class };

		if (conn_knows(view->c, rules[i].needs) && rules[i].holds(view, &p)) {
			if (p.harm != CONN_HARMFUL)
				p.lost_ns = 0;
			out[n++] = p;
		}
	}
	return n;
}

/* Returns the time lost to harmful problems. Classes overlap, so each kind of time counts once. */
static uint64_t rules_lost_ns(const struct conn_view *view)
{
	const uint32_t losses = 1U << CONN_FAST_RETRANSMIT | 1U << CONN_TIMEOUT |
				1U << CONN_TAIL_LOSS_PROBE | 1U << CONN_BURST_AFTER_IDLE;
	const struct event_conn *c = view->c;
	const uint32_t harmful = view->judged.harmful;

	return (harmful >> CONN_SEND_BUFFER & 1 ? c->send_buffer_ns : 0) +
	       (harmful & losses ? c->stall_ns : 0) +
	       (harmful >> CONN_RECEIVER_WINDOW & 1 ? c->receiver_window_ns : 0) +
	       (harmful >> CONN_DELAYED_ACK & 1 ? c->delayed_ack_ns : 0);
}

void rules_judge(struct conn_view *view, struct conn_problem *room)
{
	view->found = room;
	view->judged = (struct conn_judged){ .n = rules_list(view, room) };
	for (uint32_t i = 0; i < view->judged.n; i++) {
		view->judged.problems |= 1U << room[i].class;
		if (room[i].harm == CONN_HARMFUL)
			view->judged.harmful |= 1U << room[i].class;
	}
	view->judged.lost_ns = rules_lost_ns(view);
}

int rules_judge_into(struct conn_view *view, struct conn_problems *found,
		     struct conn_judged *judged)
{
	int err = vec_reserve(found, found->len + RULES_MAX);

	if (err)
		return err;
	rules_judge(view, found->items + found->len);
	view->judged.first = (uint32_t)found->len;
	*judged = view->judged;
	found->len += judged->n;
	return 0;
}

void rules_explain(struct conn_finding *finding)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const bool ours = rules[i].explain == explain_own_delayed_ack;

		if (rules[i].class == finding->problem->class && ours == finding->problem->ours) {
			rules[i].explain(finding);
			return;
		}
	}
}

static const char *const names[CONN_CLASSES] = {
	[CONN_SEND_BUFFER] = "send-buffer",
	[CONN_FAST_RETRANSMIT] = "fast-retransmit",
	[CONN_TIMEOUT] = "timeout",
	[CONN_TAIL_LOSS_PROBE] = "tail-loss-probe",
	[CONN_SPURIOUS] = "spurious",
	[CONN_RECEIVER_WINDOW] = "receiver-window",
	[CONN_ZERO_WINDOW] = "zero-window",
	[CONN_RECEIVER_NOT_READING] = "receiver-not-reading",
	[CONN_DELAYED_ACK] = "delayed-ack",
	[CONN_NAGLE] = "nagle",
	[CONN_SMALL_WRITES] = "small-writes",
	[CONN_BURST_AFTER_IDLE] = "burst-after-idle",
	[CONN_SLOW_START_AFTER_IDLE] = "slow-start-after-idle",
	[CONN_INCAST] = "incast",
	[CONN_PIPELINE_PROXY] = "pipeline-proxy",
	[CONN_SPREAD_WRITES] = "spread-writes",
};

const char *conn_class_name(unsigned int class)
{
	return class < CONN_CLASSES ? names[class] : "unknown";
}

const char *conn_confidence_name(unsigned int confidence)
{
	return confidence == CONN_OBSERVED ? "observed" : confidence == CONN_SAMPLED ? "sampled" :
	       confidence == CONN_INFERRED ? "inferred" : "unknown";
}
