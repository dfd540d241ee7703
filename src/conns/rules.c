/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/rules.h"

#include "base/bug.h"
#include "conns/evidence.h"
#include "conns/conn_share.h"
#include "conns/service.h"

/*
 * Returns whether samples show, with confidence, a state for RULES_LIMITED_SHARE of the time or
 * more; stores its share, with the confidence interval, in `p->sampled`. Among many connections,
 * some have many hits by chance: the others of the service say how much shares vary.
 */
static bool rules_is_often(const struct conn_view *v, uint64_t ns, uint32_t hits,
			   enum conn_share_kind kind, struct conn_problem *p)
{
	const struct event_conn *c = v->c;
	double share, n;

	if (c->samples < RULES_SAMPLES_MIN || hits < RULES_SEEN_MIN)
		return false;
	p->sampled = conn_share_sampled(c, ns, hits, CONN_CONFIDENCE);
	if (p->sampled.lo < RULES_LIMITED_SHARE || !v->service)
		return p->sampled.lo >= RULES_LIMITED_SHARE;
	share = conn_share_of(c, kind, &n);
	return shrink_above(&v->service->laws[kind], share, n, RULES_LIMITED_SHARE) >
	       RULES_LIMITED_SURE;
}

static bool rules_is_state_often(const struct conn_view *v, enum conn_sample_state what,
				 enum conn_share_kind kind, struct conn_problem *p)
{
	return rules_is_often(v, v->c->sampled_ns[what], v->c->sampled[what], kind, p);
}

/* Kinds of repair that a stall is divided among. */
enum rules_repair_kind { RULES_FAST, RULES_PROBE, RULES_TIMEOUT, RULES_REPAIRS };

static bool rules_is_limit(const struct event_conn *c, uint64_t ns)
{
	return conn_share(c, ns) >= RULES_LIMITED_SHARE;
}

/* Returns the connection's usual round trip in ns; 0: unknown. */
static uint64_t rules_round_trip(const struct event_conn *c)
{
	if (conn_knows(c, CONN_KNOWS_RTT) && c->rtt_samples)
		return 1000 * c->rtt_sum_us / c->rtt_samples;
	return 1000ULL * c->rtt_us;
}

/*
 * Returns whether data was acknowledged as fast as a set pacing rate lets it. A rate that is not
 * capped follows what was delivered, so that a small buffer lowers it as well.
 */
static bool rules_is_paced(const struct event_conn *c)
{
	const double sent = (double)c->bytes_acked * 1e9;

	return c->flags & CONN_PACING_CAPPED && c->pacing_rate && c->pacing_rate != UINT64_MAX &&
	       sent >= RULES_PACED_SHARE * (double)c->pacing_rate * (double)(c->to - c->from);
}

/*
 * Returns what keeps a full send buffer full, so that a larger one would only hold more. Automatic
 * sizing makes the buffer twice the congestion window: until it has reached its limit, the buffer
 * follows the window.
 */
static enum buffer_drain rules_drain(const struct event_conn *c)
{
	if (!conn_knows(c, CONN_KNOWS_GAUGES))
		return DRAIN_UNHELD;
	if (rules_is_paced(c))
		return DRAIN_PACING;
	if (c->min_rtt_us && rules_round_trip(c) > RULES_QUEUED_TRIPS * 1000ULL * c->min_rtt_us)
		return DRAIN_PATH;
	return c->flags & CONN_SNDBUF_GROWS ? DRAIN_SIZING : DRAIN_UNHELD;
}

static bool rules_send_buffer(const struct conn_view *v, struct conn_problem *p)
{
	p->drain = rules_drain(v->c);
	p->confidence = CONN_SAMPLED;
	p->harm = p->drain == DRAIN_UNHELD ? CONN_HARMFUL : CONN_HARMLESS;
	p->lost_ns = v->c->send_buffer_ns;
	return rules_is_limit(v->c, v->c->send_buffer_ns) &&
	       rules_is_state_often(v, CONN_AT_SEND_BUFFER, CONN_SHARE_SEND_BUFFER, p);
}

/* ---- retransmissions ---- */

/*
 * Returns the time for which losses stalled the connection, at least: the stalls' part of segments
 * that were lost; where stalls are unknown, a timeout takes the timer's time.
 */
static uint64_t rules_stall_ns(const struct event_conn *c)
{
	const uint64_t all = conn_retransmitted(c);
	uint64_t timer_us = CONN_TIMER_US;

	if (conn_knows(c, CONN_KNOWS_LOSSES) || !conn_knows(c, CONN_KNOWS_RTO))
		return all ? (uint64_t)((unsigned __int128)c->stall_ns * service_lost(c) / all) : 0;
	if (conn_knows(c, CONN_KNOWS_GAUGES) && c->rto_us && c->rto_us < timer_us)
		timer_us = c->rto_us;
	return 1000 * timer_us * c->rto;
}

/* Returns whether the peer's record shows no delayed ACKs: ACKs were late for another reason. */
static bool rules_is_denied(const struct conn_view *v)
{
	return v->peer && conn_knows(v->peer, CONN_KNOWS_DELACKS) && !v->peer->delayed_acks;
}

static bool rules_is_confirmed(const struct conn_view *v)
{
	return v->peer && conn_knows(v->peer, CONN_KNOWS_DELACKS) && v->peer->delayed_acks;
}

/*
 * Returns the time for which the peer delayed ACKs of segments that timeouts sent again; 0: none,
 * or not certain. Where the peer's record does not confirm it, one late ACK may have another
 * reason, and on a path that varies a few timeouts of many have late ACKs.
 */
static uint64_t rules_delayed_repair_ns(const struct conn_view *v)
{
	const struct event_conn *c = v->c;
	const uint64_t n = c->rto_delacks, ns = 1000 * c->rto_delack_us, stall = rules_stall_ns(c);

	if (!conn_knows(c, CONN_COUNTS_rto_delacks | CONN_COUNTS_rto_delack_us |
			CONN_KNOWS_LOSSES) || rules_is_denied(v) || !n)
		return 0;
	if (!rules_is_confirmed(v) &&
	    (n < RULES_DELAYED_MIN || n * RULES_DELAYED_TIMEOUTS < c->rto))
		return 0;
	return ns < stall ? ns : stall;
}

/*
 * Divides the stalls, without the peer's delays, among the kinds of repair, which the kernel does
 * not time apart: in proportion to what they usually take. The last time is the rest, so that the
 * sum is all of it.
 */
static void rules_divide_stall(const struct conn_view *v, uint64_t ns[RULES_REPAIRS])
{
	const struct event_conn *c = v->c;
	const uint64_t known = rules_round_trip(c) / 1000;
	const uint64_t timer = c->rto_us > known ? c->rto_us : CONN_TIMER_US;
	const uint64_t trip = known ? known : timer / 2; /* unknown: probes as long as a timeout */
	const uint64_t recoveries = c->recoveries ? c->recoveries : c->fast_retransmit;
	const double takes[RULES_REPAIRS] = {
		[RULES_FAST] = (double)recoveries * (double)trip,
		[RULES_PROBE] = 2 * (double)c->tlp * (double)trip,
		[RULES_TIMEOUT] = (double)c->rto * (double)timer,
	};
	const uint64_t stall = rules_stall_ns(c) - rules_delayed_repair_ns(v);
	double sum = 0, rest;
	uint64_t left = stall;

	for (int i = 0; i < RULES_REPAIRS; i++)
		sum += takes[i];
	rest = sum;
	for (int i = 0; i < RULES_REPAIRS; i++) {
		rest -= takes[i];
		ns[i] = !(sum > 0) ? 0 : rest < sum / 1e9 ? left :
			(uint64_t)((double)stall * (takes[i] / sum));
		ns[i] = ns[i] < left ? ns[i] : left;
		left -= ns[i];
	}
}

/*
 * Returns whether losses stalled the connection for long, by its busy time and by its path; and
 * whether `part` of that time, that of one kind of repair, is much of it.
 */
static bool rules_is_stalled(const struct event_conn *c, uint64_t part)
{
	const uint64_t busy = conn_knows(c, CONN_KNOWS_CHRONO) ? c->busy_ns : c->to - c->from;
	const uint64_t stall = rules_stall_ns(c);

	return part && (double)stall >= RULES_STALL_SHARE * (double)busy &&
	       stall >= rules_round_trip(c) &&
	       (3 * part >= stall || (double)part >= RULES_STALL_SHARE * (double)busy);
}

/* Returns whether the connection loses more than the others of its service; notes their losses. */
static bool rules_is_excess(const struct conn_view *v, struct conn_problem *p)
{
	const struct conn_service *s = v->service;
	const struct event_conn *c = v->c;
	double usual;

	if (!s || s->connections < 2 || !c->bytes_sent)
		return false;
	usual = service_other_losses(s, c);
	p->service = s->connections;
	p->usual_losses = usual * c->mss;
	return (double)service_lost(c) / (double)c->bytes_sent >= RULES_LOSS_TIMES * usual &&
	       service_loss_chance(s, c) < RULES_LOSS_CHANCE / s->connections;
}

/*
 * Returns whether segments were lost. Losses are how congestion control finds the path's capacity:
 * they are harmful if data waited for long, or if they are more than the service's usual ones.
 */
static bool rules_retransmission(const struct conn_view *v, struct conn_problem *p, uint32_t events,
				 uint64_t stall)
{
	if (!events || conn_all_spurious(v->c))
		return false;
	p->confidence = CONN_OBSERVED;
	p->lost_ns = conn_knows(v->c, CONN_KNOWS_LOSSES) ? stall : 0;
	p->excess = rules_is_excess(v, p);
	p->harm = p->excess || rules_is_stalled(v->c, stall) ? CONN_HARMFUL : CONN_HARMLESS;
	return true;
}

static bool rules_repair(const struct conn_view *v, struct conn_problem *p, uint32_t events,
			 enum rules_repair_kind kind)
{
	uint64_t ns[RULES_REPAIRS];

	rules_divide_stall(v, ns);
	return rules_retransmission(v, p, events, ns[kind]);
}

static bool rules_fast_retransmit(const struct conn_view *v, struct conn_problem *p)
{
	return rules_repair(v, p, v->c->fast_retransmit, RULES_FAST);
}

static bool rules_timeout(const struct conn_view *v, struct conn_problem *p)
{
	return rules_repair(v, p, v->c->rto, RULES_TIMEOUT);
}

/* Returns whether tail-loss probes were sent: one may carry new data, or find nothing lost. */
static bool rules_tail_loss_probe(const struct conn_view *v, struct conn_problem *p)
{
	return rules_repair(v, p, v->c->tlp, RULES_PROBE);
}

static bool rules_spurious(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = CONN_OBSERVED;
	p->harm = CONN_HARMLESS;
	return v->c->spurious && 2 * conn_spurious(v->c) >= conn_retransmitted(v->c);
}

/* ---- windows ---- */

/*
 * Returns whether most samples at the window's limit found it closed. Data on their way keep a
 * window open: the reader of a closed one has not read.
 */
static bool rules_is_mostly_shut(const struct event_conn *c)
{
	return c->zero_windows >= RULES_SEEN_MIN && c->samples >= RULES_SAMPLES_MIN &&
	       2 * (uint64_t)c->zero_windows > c->sampled[CONN_AT_WINDOW];
}

/* Returns whether the peer's receive buffer is full, set by the application, or still growing. */
static enum window_limit rules_window_limit(const struct event_conn *c,
					    const struct event_conn *peer)
{
	if (!peer || !conn_knows(peer, CONN_KNOWS_GAUGES))
		return WINDOW_UNKNOWN;
	if (peer->unread >= RULES_SEEN_MIN ||
	    (peer->rcvbuf && peer->rcv_queue && peer->rmem >= peer->rcvbuf) ||
	    (peer->rcv_queue && rules_is_mostly_shut(c)))
		return WINDOW_NOT_READ;
	if (peer->flags & CONN_FROM_DIAG)
		return WINDOW_UNKNOWN;
	return peer->flags & CONN_RCVBUF_SET ? WINDOW_SET : WINDOW_GROWING;
}

/*
 * Returns whether the receiver's window has limited the connection for some round trips: until then
 * it may grow. A record that is hardly longer cannot show that, unless the connection is as young.
 */
static bool rules_is_lasting(const struct event_conn *c)
{
	const uint64_t trips = RULES_WINDOW_TRIPS * rules_round_trip(c);
	const uint64_t half = (c->to - c->from) / 2;

	return c->receiver_window_ns > (c->flags & CONN_BEGAN || half > trips ? trips : half);
}

/*
 * Returns whether the peer's receive window limits the connection, by the kernel's own account of
 * that time if known, otherwise by samples.
 */
static bool rules_receiver_window(const struct conn_view *v, struct conn_problem *p)
{
	p->harm = rules_is_lasting(v->c) ? CONN_HARMFUL : CONN_HARMLESS;
	p->lost_ns = v->c->receiver_window_ns;
	p->limit = rules_window_limit(v->c, v->peer);
	p->confidence = conn_knows(v->c, CONN_KNOWS_CHRONO) ? CONN_OBSERVED : CONN_SAMPLED;
	if (!rules_is_limit(v->c, v->c->receiver_window_ns))
		return false;
	if (p->confidence == CONN_OBSERVED)
		return v->c->receiver_window_ns >= RULES_WINDOW_MIN_NS;
	return rules_is_state_often(v, CONN_AT_WINDOW, CONN_SHARE_WINDOW, p);
}

static bool rules_zero_window(const struct conn_view *v, struct conn_problem *p)
{
	const bool waits = v->c->receiver_window_ns || v->c->sampled[CONN_AT_WINDOW];

	p->confidence = CONN_SAMPLED;
	p->harm = waits ? CONN_HARMFUL : CONN_HARMLESS;
	p->limit = rules_window_limit(v->c, v->peer);
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
	return rules_is_often(v, v->c->unread_ns, v->c->unread, CONN_SHARE_UNREAD, p);
}

/* ---- acknowledgements and small writes ---- */

/*
 * Returns whether data was held until a late acknowledgement arrived. If the peer's record shows no
 * delayed ACK, something else may have delayed them: samples must have found data waiting.
 */
static bool rules_is_held(const struct conn_view *v, struct conn_problem *p)
{
	const struct event_conn *c = v->c;

	p->harm = CONN_HARMFUL;
	p->lost_ns = c->delayed_ack_ns;
	p->confidence = rules_is_confirmed(v) ? CONN_OBSERVED : CONN_INFERRED;
	p->elsewhere = rules_is_denied(v);
	if (conn_knows(c, CONN_KNOWS_PEER_DELACKS) &&
	    (!p->elsewhere || c->delayed_acks_harmful < RULES_DELAYED_MIN))
		return c->delayed_acks_harmful >= RULES_DELAYED_MIN;
	p->confidence = CONN_SAMPLED;
	return conn_knows(c, CONN_KNOWS_TIMES) && rules_is_limit(c, c->delayed_ack_ns) &&
	       rules_is_state_often(v, CONN_AT_DELAYED_ACK, CONN_SHARE_DELAYED_ACK, p);
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

/* Returns whether repairs after timeouts waited for ACKs that the peer delayed. */
static bool rules_delayed_repair(const struct conn_view *v, struct conn_problem *p)
{
	p->confidence = rules_is_confirmed(v) ? CONN_OBSERVED : CONN_INFERRED;
	p->lost_ns = rules_delayed_repair_ns(v);
	p->harm = rules_is_stalled(v->c, rules_stall_ns(v->c)) ? CONN_HARMFUL : CONN_HARMLESS;
	return p->lost_ns && !conn_all_spurious(v->c);
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

/*
 * Returns whether the application has set a send buffer of a few packets. Data waits if the buffer
 * was full; where it never is, a delayed ACK is Nagle's matter.
 */
static bool rules_tiny_buffer(const struct conn_view *v, struct conn_problem *p)
{
	const struct event_conn *c = v->c;
	const bool held = rules_is_limit(c, c->send_buffer_ns);
	const bool sampled = conn_knows(c, CONN_KNOWS_TIMES) && c->samples >= RULES_SAMPLES_MIN;

	p->confidence = CONN_OBSERVED;
	p->harm = !sampled ? CONN_HARM_UNKNOWN : held ? CONN_HARMFUL : CONN_HARMLESS;
	p->lost_ns = c->send_buffer_ns;
	return c->flags & CONN_SNDBUF_SET && !(c->flags & CONN_FROM_DIAG) && c->bytes_sent &&
	       c->sndbuf && c->sndbuf <= RULES_TINY_BUFFER;
}

/* ---- pauses ---- */

static bool rules_burst_after_idle(const struct conn_view *v, struct conn_problem *p)
{
	return rules_retransmission(v, p, v->c->idle_bursts_lost, rules_stall_ns(v->c));
}

/* Returns the time for which the congestion window held data, not pacing or the local queue. */
static uint64_t rules_congestion_window(const struct event_conn *c)
{
	const uint64_t repair = conn_knows(c, CONN_KNOWS_LOSSES) ? c->recovery_ns : 0;
	const uint64_t held = c->congestion_ns > repair ? c->congestion_ns - repair : 0;
	const uint64_t all = c->sampled[CONN_AT_CWND], others = c->cwnd_paced + c->cwnd_queued;

	if (!conn_knows(c, CONN_COUNTS_cwnd_paced | CONN_COUNTS_cwnd_queued) || !all)
		return held;
	return others < all ? (uint64_t)((double)held * (double)(all - others) / (double)all) : 0;
}

/*
 * Returns whether the congestion window was cut after a pause. Data waited for that as long as the
 * window was the limit, but no longer than the window takes to grow. A window that the peer closes
 * makes pauses as well; it, and not the cut, is then the limit.
 */
static bool rules_slow_start_after_idle(const struct conn_view *v, struct conn_problem *p)
{
	const struct event_conn *c = v->c;
	const uint64_t grows = RULES_RESTART_TRIPS * rules_round_trip(c) * c->idle_restarts;
	const uint64_t window = rules_congestion_window(c);

	p->confidence = CONN_OBSERVED;
	p->lost_ns = grows < window ? grows : window;
	p->harm = !conn_knows(c, CONN_KNOWS_TIMES) || !grows || c->samples < RULES_SAMPLES_MIN ?
		  CONN_HARM_UNKNOWN : rules_is_limit(c, p->lost_ns) &&
		  p->lost_ns > c->receiver_window_ns ? CONN_HARMFUL : CONN_HARMLESS;
	return c->idle_restarts;
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
	{ CONN_DELAYED_REPAIR, CONN_KNOWS_LOSSES, rules_delayed_repair, explain_delayed_repair },
	{ CONN_NAGLE, 0, rules_nagle, explain_nagle },
	{ CONN_SMALL_WRITES, CONN_KNOWS_CALLS, rules_small_writes, explain_small_writes },
	{ CONN_TINY_SEND_BUFFER, CONN_KNOWS_GAUGES, rules_tiny_buffer, explain_tiny_buffer },
	{ CONN_BURST_AFTER_IDLE, CONN_KNOWS_LOSSES, rules_burst_after_idle, explain_burst },
	{ CONN_SLOW_START_AFTER_IDLE, 0, rules_slow_start_after_idle, explain_restart },
};

_Static_assert(ARRAY_LEN(rules) <= RULES_MAX, "room for all rules");

/* Returns the lower bound of the time lost: of sampled shares, their confidence interval's. */
static uint64_t rules_lower_bound(const struct conn_problem *p)
{
	if (p->confidence != CONN_SAMPLED || !(p->sampled.share > 0))
		return p->lost_ns;
	return (uint64_t)((double)p->lost_ns * (p->sampled.lo / p->sampled.share));
}

/* Writes the problems that the rules find to out[RULES_MAX]; returns their number. */
static uint32_t rules_list(const struct conn_view *view, struct conn_problem *out)
{
	uint32_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct conn_problem p = { .class = rules[i].class };

		if (conn_knows(view->c, rules[i].needs) && rules[i].holds(view, &p)) {
			if (p.harm != CONN_HARMFUL)
				p.lost_ns = 0;
			p.lost_lo_ns = rules_lower_bound(&p);
			out[n++] = p;
		}
	}
	return n;
}

bool rules_counts_lost(const struct conn_problem *p)
{
	return RULES_LOST_CLASSES >> p->class & 1 && !p->ours;
}

/* Adds up the time lost to harmful problems, and its lower bound. */
static void rules_add_lost(struct conn_judged *judged, const struct conn_problem *problems)
{
	for (uint32_t i = 0; i < judged->n; i++) {
		if (!rules_counts_lost(&problems[i]))
			continue;
		judged->lost_ns += problems[i].lost_ns;
		judged->lost_lo_ns += problems[i].lost_lo_ns;
	}
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
	rules_add_lost(&view->judged, room);
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
	[CONN_DELAYED_REPAIR] = "delayed-ack-after-timeout",
	[CONN_NAGLE] = "nagle",
	[CONN_SMALL_WRITES] = "small-writes",
	[CONN_TINY_SEND_BUFFER] = "tiny-send-buffer",
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
