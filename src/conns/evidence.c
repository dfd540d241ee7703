/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/evidence.h"

#include "conns/incast.h"
#include "report/human.h"

#define MESSAGE(t, ...) strbuf_printf(&(t)->message, __VA_ARGS__)
#define ADVICE(t, ...) strbuf_printf(&(t)->advice, __VA_ARGS__)

/* ---- fields ---- */

static void evidence_put(struct conn_finding *t, const char *name, struct value value)
{
	object_add(t->evidence, name, value);
}

static struct value evidence_known(const struct conn_finding *t, uint32_t bit, struct value value)
{
	return conn_knows(t->view->c, bit) ? value : value_null();
}

static void evidence_put_count(struct conn_finding *t, const char *name, uint32_t bit, uint64_t n)
{
	evidence_put(t, name, evidence_known(t, bit, value_u64(n)));
}

static void evidence_put_time(struct conn_finding *t, const char *name, uint32_t bit, uint64_t ns)
{
	evidence_put(t, name, evidence_known(t, bit, value_ns(ns)));
}

static void evidence_put_flag(struct conn_finding *t, const char *name, uint32_t flag)
{
	evidence_put(t, name, t->view->c->flags & CONN_FROM_DIAG ? value_null() :
		     value_bool(t->view->c->flags & flag));
}

static void evidence_put_gauge(struct conn_finding *t, const char *name, uint64_t n)
{
	evidence_put_count(t, name, CONN_KNOWS_GAUGES, n);
}

static void evidence_put_sampled(struct conn_finding *t)
{
	const struct proportion *p = &t->problem->sampled;

	evidence_put(t, "samples", value_u64(t->view->c->samples));
	evidence_put(t, "sampled_share", value_fraction(p->share));
	evidence_put(t, "sampled_lo", value_fraction(p->lo));
	evidence_put(t, "sampled_hi", value_fraction(p->hi));
}

/* Adds "for 93 % of the time (120 samples: 81 % to 97 %)" to the message. */
static void evidence_share(struct conn_finding *t, uint64_t ns)
{
	const struct proportion *p = &t->problem->sampled;
	char share[HUMAN_MAX], lo[HUMAN_MAX], hi[HUMAN_MAX], n[HUMAN_MAX];

	MESSAGE(t, "for %s of the time", human_fraction(share, conn_share(t->view->c, ns)));
	if (t->problem->confidence == CONN_SAMPLED)
		MESSAGE(t, " (%s samples: %s to %s)", human_count(n, t->view->c->samples),
			human_fraction(lo, p->lo), human_fraction(hi, p->hi));
}

/* ---- the send buffer ---- */

/*
 * Returns the bytes that may be in flight: the smaller of congestion window and peer's window.
 * Gauges must be known.
 */
static uint64_t evidence_window(const struct event_conn *c)
{
	const uint64_t cwnd = (uint64_t)c->cwnd * c->mss;

	return c->snd_wnd && c->snd_wnd < cwnd ? c->snd_wnd : cwnd;
}

/*
 * Returns the connection's fair share of all send-buffer memory, in proportion to its congestion
 * window (Yu et al., section 5.3).
 */
static uint64_t evidence_memory_share(const struct conn_finding *t)
{
	const uint64_t cwnd = (uint64_t)t->view->c->cwnd * t->view->c->mss;

	if (!t->sums->window)
		return 0;
	return (uint64_t)((double)cwnd * (double)t->sums->sndbuf / (double)t->sums->window);
}

static const char *evidence_drain_name(enum buffer_drain drain)
{
	return drain == DRAIN_SIZING ? "automatic-sizing" : drain == DRAIN_PACING ? "pacing" :
	       drain == DRAIN_PATH ? "path-queue" : NULL;
}

/* Says what keeps the buffer full, if that is not its size. */
static void evidence_drain(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char rate[HUMAN_MAX], least[HUMAN_MAX];

	if (t->problem->drain == DRAIN_PACING)
		MESSAGE(t, ": pacing (%s bytes/s) empties it", human_count(rate, c->pacing_rate));
	else if (t->problem->drain == DRAIN_PATH)
		MESSAGE(t, ": the path's queue empties it, as round trips take more than twice the "
			"least (%s)", human_ns(least, 1000ULL * c->min_rtt_us));
	else if (t->problem->drain == DRAIN_SIZING)
		MESSAGE(t, ": twice the congestion window, which automatic sizing follows");
}

/* Advises to enlarge the send buffer, to more than it has. */
static void evidence_advise_buffer(struct conn_finding *t, uint64_t window, uint64_t fair)
{
	const struct event_conn *c = t->view->c;
	char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];

	if (c->flags & CONN_FROM_DIAG)
		ADVICE(t, "remove SO_SNDBUF if the application sets it; otherwise raise the third "
		       "value of net.ipv4.tcp_wmem");
	else if (c->flags & CONN_SNDBUF_SET)
		ADVICE(t, "the application's SO_SNDBUF disables automatic sizing: remove it");
	else
		ADVICE(t, "automatic sizing has reached its limit: raise the third value of "
		       "net.ipv4.tcp_wmem");
	if (!conn_knows(c, CONN_KNOWS_GAUGES) || !window)
		return;
	ADVICE(t, "%s at least ", c->flags & CONN_SNDBUF_SET ? ", or set it to" : " to");
	if (2 * window > c->sndbuf)
		ADVICE(t, "%s bytes (2 x the %s-byte window)", human_count(a, 2 * window),
		       human_count(b, window));
	else
		ADVICE(t, "%s bytes (2 x the present size)", human_count(a, 2ULL * c->sndbuf));
	if (fair > c->sndbuf)
		ADVICE(t, "; the connection's fair share of all send-buffer memory is %s bytes",
		       human_count(d, fair));
}

void explain_send_buffer(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	const bool gauges = conn_knows(c, CONN_KNOWS_GAUGES);
	const uint64_t window = evidence_window(c), fair = evidence_memory_share(t);
	char a[HUMAN_MAX];

	evidence_put(t, "share", value_fraction(conn_share(c, c->send_buffer_ns)));
	evidence_put_sampled(t);
	evidence_put_gauge(t, "sndbuf", c->sndbuf);
	evidence_put_flag(t, "sndbuf_set", CONN_SNDBUF_SET);
	evidence_put_gauge(t, "wmem_queued", c->wmem_queued);
	evidence_put_gauge(t, "window_bytes", window);
	evidence_put(t, "memory_share_bytes", gauges && fair ? value_u64(fair) : value_null());
	evidence_put_time(t, "kernel_sndbuf_ns", CONN_KNOWS_CHRONO, c->kernel_sndbuf_ns);
	evidence_put(t, "held_by", value_string(evidence_drain_name(t->problem->drain)));
	MESSAGE(t, "the send buffer was full ");
	evidence_share(t, c->send_buffer_ns);
	if (gauges)
		MESSAGE(t, "; its size is %s bytes, including kernel overhead",
			human_count(a, c->sndbuf));
	if (t->problem->drain == DRAIN_UNHELD)
		evidence_advise_buffer(t, window, fair);
	else
		evidence_drain(t);
}

/* ---- retransmissions ---- */

static const char *evidence_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void evidence_put_losses(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;

	evidence_put_count(t, "fast_retransmit", CONN_KNOWS_LOSSES, c->fast_retransmit);
	evidence_put_count(t, "rto", CONN_KNOWS_RTO, c->rto);
	evidence_put_count(t, "tlp", CONN_KNOWS_LOSSES, c->tlp);
	evidence_put_count(t, "spurious", CONN_KNOWS_SPURIOUS, c->spurious);
	evidence_put_time(t, "stall_ns", CONN_KNOWS_LOSSES, c->stall_ns);
	evidence_put_time(t, "longest_stall_ns", CONN_KNOWS_LOSSES, c->longest_stall_ns);
	evidence_put(t, "bytes_retransmitted", value_u64(c->bytes_retransmitted));
	evidence_put(t, "bytes_sent", value_u64(c->bytes_sent));
	evidence_put(t, "service_connections", t->problem->service ?
		     value_u64(t->problem->service) : value_null());
	evidence_put(t, "service_losses", t->problem->service ?
		     value_fraction(t->problem->usual_losses) : value_null());
}

/* Adds "; the service's other 40 connections sent 0.1 % of their bytes again". */
static void evidence_excess(struct conn_finding *t)
{
	char n[HUMAN_MAX], share[HUMAN_MAX];

	if (t->problem->excess)
		MESSAGE(t, "; the service's other %s connection%s sent %s of their bytes again",
			human_count(n, t->problem->service - 1),
			evidence_plural(t->problem->service - 1),
			human_fraction(share, t->problem->usual_losses));
}

static void evidence_stall(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char all[HUMAN_MAX], longest[HUMAN_MAX];

	if (!conn_knows(c, CONN_KNOWS_LOSSES))
		return;
	if (!c->stall_ns)
		MESSAGE(t, ", without a stall");
	else if (c->stalls > 1)
		MESSAGE(t, "; stalled for %s in total, longest stall %s",
			human_ns(all, c->stall_ns), human_ns(longest, c->longest_stall_ns));
	else
		MESSAGE(t, "; stalled for %s", human_ns(all, c->stall_ns));
	if (t->problem->lost_ns && t->problem->lost_ns < c->stall_ns)
		MESSAGE(t, ", about %s of it for these losses",
			human_ns(all, t->problem->lost_ns));
}

void explain_fast_retransmit(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], share[HUMAN_MAX];

	evidence_put_losses(t);
	evidence_put_count(t, "recoveries", CONN_KNOWS_LOSSES, c->recoveries);
	MESSAGE(t, "%s segment%s retransmitted in fast recovery",
		human_count(n, c->fast_retransmit), evidence_plural(c->fast_retransmit));
	evidence_stall(t);
	evidence_excess(t);
	ADVICE(t, "the path loses or reorders packets");
	if (c->bytes_sent >= c->bytes_retransmitted && c->bytes_retransmitted)
		ADVICE(t, " (%s of the bytes sent)",
		       human_fraction(share, (double)c->bytes_retransmitted /
				      (double)c->bytes_sent));
	ADVICE(t, ": look for full queues and link errors; hostlat watch lists this host's drops");
}

void explain_timeout(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], rto[HUMAN_MAX];

	evidence_put_losses(t);
	evidence_put_time(t, "rto_ns", c->rto_us ? CONN_KNOWS_GAUGES : UINT32_MAX,
			  c->rto_us * 1000ull);
	MESSAGE(t, "%s retransmission timeout%s", human_count(n, c->rto), evidence_plural(c->rto));
	evidence_stall(t);
	evidence_excess(t);
	if (conn_knows(c, CONN_KNOWS_LOSSES) && c->rto > c->fast_retransmit)
		ADVICE(t, "too few packets were in flight to trigger fast retransmit: use fewer, "
		       "busier connections or larger writes");
	else
		ADVICE(t, "retransmissions or whole windows were lost: look for a full queue or a "
		       "path that was down");
	if (c->write_first && c->loss_first - c->write_first <= INCAST_BURST_NS)
		ADVICE(t, "; if the receiver requests from many senders at once, run hostlat conns "
		       "at the receiver");
	if (conn_knows(c, CONN_KNOWS_GAUGES) && c->rto_us)
		ADVICE(t, "; the retransmission timeout is now %s",
		       human_ns(rto, (uint64_t)c->rto_us * 1000));
}

void explain_tail_loss_probe(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX];

	evidence_put_losses(t);
	MESSAGE(t, "%s tail-loss probe%s", human_count(n, c->tlp), evidence_plural(c->tlp));
	evidence_stall(t);
	evidence_excess(t);
	if (c->stall_ns)
		ADVICE(t, "the last segment of a message was lost, and no later segment revealed "
		       "the loss: look for drops on the path; the probe of a single segment waits "
		       "at least 200 ms for an acknowledgement that may be delayed");
}

void explain_spurious(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], all[HUMAN_MAX];

	evidence_put_losses(t);
	evidence_put(t, "retransmitted", value_u64(conn_retransmitted(c)));
	MESSAGE(t, "unnecessary retransmissions: %s of %s; the segments had arrived",
		human_count(n, conn_spurious(c)), human_count(all, conn_retransmitted(c)));
	ADVICE(t, c->rto ? "the round trip grew beyond the retransmission timeout: look for a "
		   "queue that fills or a receiver that stalls" :
	       c->tlp > c->fast_retransmit ? "acknowledgements arrive late: the receiver "
		   "reads slowly or delays them" :
		   "the path reorders packets: look for parallel links or queues");
}

/* ---- windows ---- */

static const char *evidence_limit_name(enum window_limit limit)
{
	return limit == WINDOW_NOT_READ ? "receiver-not-reading" :
	       limit == WINDOW_SET ? "receive-buffer-set" :
	       limit == WINDOW_GROWING ? "still-growing" : NULL;
}

static void evidence_put_window(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	const struct event_conn *peer = t->view->peer;
	const bool asked = peer && conn_knows(peer, CONN_KNOWS_GAUGES);

	evidence_put_gauge(t, "snd_wnd", c->snd_wnd);
	evidence_put_gauge(t, "sndbuf", c->sndbuf);
	evidence_put(t, "limit", value_string(evidence_limit_name(t->problem->limit)));
	evidence_put(t, "peer_rcvbuf", asked ? value_u64(peer->rcvbuf) : value_null());
	evidence_put(t, "peer_unread_bytes", asked ? value_u64(peer->rcv_queue) : value_null());
}

static void evidence_advise_window(struct conn_finding *t)
{
	const struct event_conn *peer = t->view->peer;
	char n[HUMAN_MAX];

	switch (t->problem->limit) {
	case WINDOW_NOT_READ:
		ADVICE(t, "the receiving application does not read: %s bytes wait in its buffer",
		       human_count(n, peer->rcv_queue));
		break;
	case WINDOW_SET:
		ADVICE(t, "the receiving application's SO_RCVBUF (%s bytes) disables automatic "
		       "sizing: remove it", human_count(n, peer->rcvbuf));
		break;
	case WINDOW_GROWING:
		ADVICE(t, "the receiver's buffer (%s bytes) is still growing: if the limit "
		       "persists, raise the third value of net.ipv4.tcp_rmem at the receiver",
		       human_count(n, peer->rcvbuf));
		break;
	default:
		ADVICE(t, "check at the receiver whether the application reads, whether it sets "
		       "SO_RCVBUF, and the third value of net.ipv4.tcp_rmem");
	}
}

void explain_receiver_window(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	const bool gauges = conn_knows(c, CONN_KNOWS_GAUGES);
	char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];

	evidence_put(t, "share", value_fraction(conn_share(c, c->receiver_window_ns)));
	if (t->problem->confidence == CONN_SAMPLED)
		evidence_put_sampled(t);
	evidence_put_window(t);
	MESSAGE(t, "the receiver's window was too small ");
	evidence_share(t, c->receiver_window_ns);
	if (gauges)
		MESSAGE(t, ": %s bytes", human_count(a, c->snd_wnd));
	if (gauges && c->snd_wnd && c->min_rtt_us)
		MESSAGE(t, ", which at a round trip of %s allow %s bytes/s",
			human_ns(b, (uint64_t)c->min_rtt_us * 1000),
			human_count(d, (uint64_t)((double)c->snd_wnd * 1e6 / c->min_rtt_us)));
	evidence_advise_window(t);
	if (gauges && c->sndbuf > c->snd_wnd)
		ADVICE(t, "; the send buffer (%s bytes) already exceeds the window: enlarging it "
		       "would not help", human_count(a, c->sndbuf));
}

void explain_zero_window(struct conn_finding *t)
{
	char n[HUMAN_MAX], all[HUMAN_MAX];

	evidence_put(t, "zero_windows", value_u64(t->view->c->zero_windows));
	evidence_put_sampled(t);
	evidence_put_window(t);
	MESSAGE(t, "the receiver's window was closed in %s of %s samples",
		human_count(n, t->view->c->zero_windows), human_count(all, t->view->c->samples));
	evidence_advise_window(t);
}

void explain_not_reading(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], all[HUMAN_MAX], bytes[HUMAN_MAX];

	evidence_put(t, "unread", value_u64(c->unread));
	evidence_put_sampled(t);
	evidence_put_gauge(t, "rcvbuf", c->rcvbuf);
	evidence_put_flag(t, "rcvbuf_set", CONN_RCVBUF_SET);
	evidence_put_gauge(t, "rmem", c->rmem);
	evidence_put_gauge(t, "rcv_queue", c->rcv_queue);
	MESSAGE(t, "this end's receive buffer was full in %s of %s samples",
		human_count(n, c->unread), human_count(all, c->samples));
	ADVICE(t, "the application reads more slowly than data arrives");
	if (conn_knows(c, CONN_KNOWS_GAUGES))
		ADVICE(t, " (%s bytes wait)", human_count(bytes, c->rcv_queue));
	ADVICE(t, ": find out what the application waits for with hostlat record and "
		  "hostlat diagnose");
}

/* ---- acknowledgements and small writes ---- */

static void evidence_put_delayed(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	const struct event_conn *peer = t->view->peer;

	evidence_put(t, "side", value_string(t->problem->ours ? "ours" : "peer"));
	evidence_put_count(t, "delayed_acks", CONN_KNOWS_DELACKS, c->delayed_acks);
	evidence_put_count(t, "peer_delayed_acks", CONN_KNOWS_PEER_DELACKS, c->peer_delayed_acks);
	evidence_put_count(t, "held", CONN_KNOWS_PEER_DELACKS, c->delayed_acks_harmful);
	evidence_put(t, "peer_says_delayed", peer && conn_knows(peer, CONN_KNOWS_DELACKS) ?
		     value_u64(peer->delayed_acks) : value_null());
	evidence_put(t, "peer_says_held", peer && conn_knows(peer, CONN_KNOWS_PEER_DELACKS) ?
		     value_u64(peer->delayed_acks_harmful) : value_null());
	evidence_put_time(t, "delayed_ack_ns", CONN_KNOWS_TIMES, c->delayed_ack_ns);
	evidence_put_flag(t, "nodelay", CONN_NODELAY);
	if (t->problem->confidence == CONN_SAMPLED)
		evidence_put_sampled(t);
}

static void evidence_held(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX];

	if (conn_knows(c, CONN_KNOWS_PEER_DELACKS))
		MESSAGE(t, "data waited %s", human_counted(n, c->delayed_acks_harmful, "time"));
	else
		MESSAGE(t, "data waited");
	if (conn_knows(c, CONN_KNOWS_PEER_DELACKS | CONN_KNOWS_TIMES) && c->delayed_ack_ns &&
	    c->delayed_acks_harmful)
		MESSAGE(t, ", at least %s on average",
			human_ns(n, c->delayed_ack_ns / c->delayed_acks_harmful));
	/* 0: no sample found data waiting */
	if (conn_knows(c, CONN_KNOWS_TIMES) && c->delayed_ack_ns) {
		MESSAGE(t, ", ");
		evidence_share(t, c->delayed_ack_ns);
		MESSAGE(t, ",");
	}
	if (t->problem->elsewhere)
		MESSAGE(t, " for an acknowledgement that something on the path delayed, not the "
			"peer");
	else
		MESSAGE(t, " for an acknowledgement that the peer delayed");
}

void explain_delayed_ack(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX];

	evidence_put_delayed(t);
	if (t->problem->harm == CONN_HARMFUL) {
		evidence_held(t);
		ADVICE(t, c->flags & CONN_NODELAY ?
		       "write each request in one call, or make the peer answer at once" :
		       "set TCP_NODELAY, or write each message in one call");
		return;
	}
	MESSAGE(t, "the peer delayed %s acknowledgement%s, but no data waited",
		human_count(n, c->peer_delayed_acks), evidence_plural(c->peer_delayed_acks));
}

void explain_own_delayed_ack(struct conn_finding *t)
{
	const enum conn_harm harm = t->problem->harm;
	char n[HUMAN_MAX];

	evidence_put_delayed(t);
	MESSAGE(t, "this end delayed %s acknowledgement%s%s",
		human_count(n, t->view->c->delayed_acks), evidence_plural(t->view->c->delayed_acks),
		harm == CONN_HARMFUL ? ", and data at the peer waited" :
		harm == CONN_HARMLESS ? ", but no data at the peer waited" : "");
	if (harm == CONN_HARMFUL)
		ADVICE(t, "at the peer, set TCP_NODELAY or write each message in one call");
	else if (harm == CONN_HARM_UNKNOWN)
		ADVICE(t, "run hostlat conns at the peer: only the peer knows whether data waited");
}

void explain_delayed_repair(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c, *peer = t->view->peer;
	const uint64_t ns = 1000 * c->rto_delack_us, n = c->rto_delacks;
	char times[HUMAN_MAX], all[HUMAN_MAX], each[HUMAN_MAX];

	evidence_put(t, "delayed_acks_after_rto", value_u64(n));
	evidence_put(t, "delayed_ns", value_ns(ns));
	evidence_put_count(t, "rto", CONN_KNOWS_RTO, c->rto);
	evidence_put_time(t, "stall_ns", CONN_KNOWS_LOSSES, c->stall_ns);
	evidence_put(t, "peer_says_delayed", peer && conn_knows(peer, CONN_KNOWS_DELACKS) ?
		     value_u64(peer->delayed_acks) : value_null());
	MESSAGE(t, "recovery from timeouts waited for %s, %s in total (%s on average): the peer "
		"delayed the acknowledgement of the only segment sent again, while other data "
		"waited", human_counted(times, n, "more acknowledgement"), human_ns(all, ns),
		human_ns(each, ns / n));
	ADVICE(t, "at the receiving host, set the route's quickack (ip route change ROUTE "
		  "quickack 1), or TCP_QUICKACK in the application after each receive call; at "
		  "the sending host, look for the losses, as a timeout sends one segment only");
}

void explain_nagle(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char size[HUMAN_MAX];

	evidence_put_delayed(t);
	evidence_put_count(t, "send_calls", CONN_KNOWS_CALLS, c->send_calls);
	evidence_put_count(t, "send_small", CONN_KNOWS_CALLS, c->send_small);
	evidence_held(t);
	MESSAGE(t, "; Nagle's algorithm held the data");
	ADVICE(t, "set TCP_NODELAY, or write each message in one call");
	if (conn_knows(c, CONN_KNOWS_CALLS) && c->send_calls)
		ADVICE(t, " (the average call writes %s bytes)",
		       human_count(size, c->send_bytes / c->send_calls));
}

void explain_small_writes(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], all[HUMAN_MAX], size[HUMAN_MAX], mss[HUMAN_MAX];

	evidence_put(t, "send_calls", value_u64(c->send_calls));
	evidence_put(t, "send_small", value_u64(c->send_small));
	evidence_put(t, "send_bytes", value_u64(c->send_bytes));
	evidence_put_gauge(t, "mss", c->mss);
	evidence_put_flag(t, "nodelay", CONN_NODELAY);
	MESSAGE(t, "%s of %s send calls wrote less than half a segment after another small "
		"write, without an acknowledgement in between",
		human_count(n, c->send_small), human_count(all, c->send_calls));
	ADVICE(t, "combine writes (writev, MSG_MORE, TCP_CORK): the average call writes %s bytes",
	       human_count(size, c->send_bytes / c->send_calls));
	if (conn_knows(c, CONN_KNOWS_GAUGES))
		ADVICE(t, ", a segment holds %s bytes", human_count(mss, c->mss));
}

void explain_tiny_buffer(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char size[HUMAN_MAX], held[HUMAN_MAX];

	evidence_put_gauge(t, "sndbuf", c->sndbuf);
	evidence_put_gauge(t, "mss", c->mss);
	evidence_put_count(t, "send_blocked", CONN_KNOWS_CALLS, c->send_blocked);
	evidence_put_count(t, "delayed_acks_harmful", CONN_KNOWS_PEER_DELACKS,
			   c->delayed_acks_harmful);
	MESSAGE(t, "the application has set a send buffer of %s bytes, kernel overhead included",
		human_count(size, c->sndbuf));
	if (t->problem->lost_ns)
		MESSAGE(t, "; it was full for %s", human_ns(held, c->send_buffer_ns));
	ADVICE(t, "remove SO_SNDBUF: a small buffer saves no copy on Linux, and a write waits "
		  "until earlier data is acknowledged");
}

/* ---- pauses ---- */

void explain_burst(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], all[HUMAN_MAX], cwnd[HUMAN_MAX];

	evidence_put_losses(t);
	evidence_put(t, "idle_bursts", value_u64(c->idle_bursts));
	evidence_put(t, "idle_bursts_lost", value_u64(c->idle_bursts_lost));
	evidence_put_time(t, "longest_pause_ns", CONN_KNOWS_CALLS, c->longest_pause_ns);
	evidence_put_flag(t, "idle_restart_off", CONN_IDLE_RESTART_OFF);
	MESSAGE(t, "%s of %s bursts after a pause lost packets within two round trips",
		human_count(n, c->idle_bursts_lost), human_count(all, c->idle_bursts));
	evidence_stall(t);
	evidence_excess(t);
	ADVICE(t, c->flags & CONN_IDLE_RESTART_OFF ?
	       "the connection resumes with the window from before the pause: set "
	       "net.ipv4.tcp_slow_start_after_idle to 1, or use pacing (fq, bbr)" :
	       "write in smaller pieces after a pause, or use pacing (fq, bbr)");
	if (c->cwnd)
		ADVICE(t, "; the congestion window is %s segments", human_count(cwnd, c->cwnd));
}

void explain_restart(struct conn_finding *t)
{
	const struct event_conn *c = t->view->c;
	char n[HUMAN_MAX], pause[HUMAN_MAX];

	evidence_put(t, "idle_restarts", value_u64(c->idle_restarts));
	evidence_put_time(t, "longest_pause_ns", CONN_KNOWS_CALLS, c->longest_pause_ns);
	evidence_put(t, "cwnd", c->cwnd ? value_u64(c->cwnd) : value_null());
	MESSAGE(t, "after %s pause%s the congestion window was cut and then limited the connection",
		human_count(n, c->idle_restarts), evidence_plural(c->idle_restarts));
	if (conn_knows(c, CONN_KNOWS_CALLS) && c->longest_pause_ns)
		MESSAGE(t, " (the longest pause: %s)", human_ns(pause, c->longest_pause_ns));
	ADVICE(t, "if you control the whole path, set net.ipv4.tcp_slow_start_after_idle to 0; or "
	       "spread the writes so that no pause exceeds the retransmission timeout");
}
