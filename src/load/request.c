/* SPDX-License-Identifier: Apache-2.0 */
#include "load/request.h"

#include "base/bug.h"

/* Notify the consumer each time another quarter of the queue has been filled. */
#define NOTIFY_PARTS 4
/*
 * Largest error, in ns, of a kernel time stamp converted to CLOCK_MONOTONIC: between two readings,
 * the offset of the clocks changes by less.
 */
#define STAMP_ERROR_NS 2000

static void request_release(struct load_thread *t, struct load_request *r)
{
	r->next = t->spare;
	t->spare = r;
}

struct load_request *request_new(struct load_thread *t, struct load_conn *conn, uint64_t number,
				 uint64_t intended)
{
	struct load_request *r = t->spare;

	if (!r) {
		/*
		 * The pool is empty because ended requests wait for time stamps: emit their samples
		 * without these stamps.
		 */
		request_emit(t, true);
		r = t->spare;
		BUG_ON(!r);
	}
	t->spare = r->next;
	r->next = NULL;
	r->conn = conn;
	r->number = number;
	r->queued_ns = t->now;
	r->failure = FAILURE_NONE;
	r->queued = true;
	r->emitted = r->begun = r->miss = r->awaits_resend = r->asking = false;
	r->redirects = 0;
	r->tx = (struct match_tx){};
	r->rx_ns = r->nic_rx_ns = 0;
	r->phc = conn->phc;
	r->sample = (struct event_sample){
		.intended = intended, .sent = t->now, .flow = conn->flow,
		.flags = t->config->role == ROLE_LATENCY ? SAMPLE_PROBE : 0,
	};
	list_append(&t->sent, &r->link);
	t->unemitted++;
	return r;
}

/* Returns a mask of the transmit stamps that the request expects: bits of enum net_stamp_kind. */
static unsigned int stamps_wanted(const struct load_request *r)
{
	const unsigned int left = r->phc ? NET_STAMP_NIC : NET_STAMP_SND;
	const unsigned int ack = r->conn->stream.datagram ? 0 : 1U << NET_STAMP_ACK;

	return 1U << NET_STAMP_SCHED | 1U << left | ack;
}

/*
 * Returns whether all expected transmit stamps have arrived: always true for a request in no match
 * list, which expects no more stamps.
 */
static bool request_has_stamps(const struct load_request *r)
{
	const unsigned int wanted = stamps_wanted(r);
	unsigned int kind;

	if (!r->tx.link.next)
		return true;
	for (kind = 0; kind < NET_STAMP_KINDS; kind++) {
		if (wanted >> kind & 1 && !r->tx.ns[kind])
			return false;
	}
	return true;
}

/*
 * Returns the time from send to a transmit stamp, in ns. Returns 0 if the stamp lies after the
 * reply: it then belongs to a later packet, in place of a lost stamp.
 */
static uint32_t tx_distance(const struct load_request *r, unsigned int kind)
{
	const uint64_t at = r->tx.ns[kind], last = r->rx_ns ? r->rx_ns : r->sample.done;

	if (at > last + STAMP_ERROR_NS && kind != NET_STAMP_ACK)
		return 0;
	return match_distance(r->sample.sent, at, STAMP_ERROR_NS);
}

static void fill_kernel(struct load_request *r)
{
	struct event_sample *s = &r->sample;

	s->snd_ns = tx_distance(r, NET_STAMP_SND);
	s->rx_ns = match_distance(r->rx_ns, s->done, STAMP_ERROR_NS);
	if (r->rx_ns && r->rx_ns + STAMP_ERROR_NS < s->sent)
		s->rx_ns = 0;
}

/*
 * Sets a sample's times from the send to the NIC's transmit stamp and from the NIC's receive stamp
 * to the read. The time between both stamps is exact, by the NIC's clock; only its position between
 * `sent` and `done` needs a conversion.
 */
static void fill_nic(struct load_thread *t, struct load_request *r)
{
	const uint64_t to = r->nic_rx_ns;
	const uint64_t from = to && r->tx.ns[NET_STAMP_NIC] > to ? 0 : r->tx.ns[NET_STAMP_NIC];
	struct event_sample *s = &r->sample;
	uint32_t before, after;
	struct clock_time at;

	if ((!from && !to) || clock_phc_to_mono(r->phc, from ? from : to, &at) ||
	    !match_place(s->sent, s->done, at.value, at.error_ns, from && to ? to - from : 0,
			 &before, &after))
		return;
	if (at.error_ns > t->nic_error_ns)
		t->nic_error_ns = at.error_ns;
	s->snd_ns = from ? before : 0;
	s->rx_ns = to ? after : 0;
	s->flags |= (from ? SAMPLE_NIC_TX : 0) | (to ? SAMPLE_NIC_RX : 0);
}

static void fill_stamps(struct load_thread *t, struct load_request *r)
{
	struct event_sample *s = &r->sample;

	if (r->phc)
		fill_nic(t, r);
	else
		fill_kernel(r);
	s->sched_ns = tx_distance(r, NET_STAMP_SCHED);
	s->ack_ns = tx_distance(r, NET_STAMP_ACK);
	if (r->tx.again)
		s->flags |= SAMPLE_RETRANSMIT;
	if (r->failure)
		return;
	t->count.stamps_missing += !s->rx_ns;
	t->count.stamps_missing += !s->sched_ns || !s->snd_ns ||
				   (!s->ack_ns && stamps_wanted(r) >> NET_STAMP_ACK & 1);
}

static void request_count(struct load_thread *t, const struct load_request *r)
{
	struct event_load *c = &t->count;

	t->assigned--;
	if (!r->failure)
		c->completed++;
	else
		c->failed++;
	c->misses += r->miss;
	c->timeouts += r->failure == FAILURE_TIMEOUT;
	c->resets += r->failure == FAILURE_RESET;
	c->refused += r->failure == FAILURE_REFUSED;
	c->garbled += r->failure == FAILURE_GARBLED;
}

static void request_push(struct load_thread *t, const struct load_request *r)
{
	struct event_sample *place = spsc_reserve(&t->samples);

	if (!place) {
		t->count.samples_lost++;
		return;
	}
	*place = r->sample;
	spsc_commit(&t->samples);
	if (!(t->samples.head & (t->samples.mask / NOTIFY_PARTS)))
		thread_notify(t);
}

static void request_emit_one(struct load_thread *t, struct load_request *r)
{
	list_remove(&r->link);
	match_forget(&r->conn->match, &r->tx);
	if (t->config->stamps != STAMPS_USER && t->phase == PHASE_RUN)
		fill_stamps(t, r);
	request_count(t, r);
	if (t->phase == PHASE_RUN)
		request_push(t, r);
	r->emitted = true;
	t->unemitted--;
	if (!r->queued)
		request_release(t, r);
}

void request_emit(struct load_thread *t, bool all)
{
	struct load_request *r = list_first(&t->awaiting_stamps, struct load_request, link);

	while (r && (all || request_has_stamps(r))) {
		request_emit_one(t, r);
		r = list_first(&t->awaiting_stamps, struct load_request, link);
	}
}

void request_done(struct load_thread *t, struct load_request *r, enum load_failure failure)
{
	r->failure = failure;
	if (failure)
		r->sample.flags |= SAMPLE_FAILED;
	if (failure == FAILURE_TIMEOUT)
		r->sample.flags |= SAMPLE_TIMEOUT;
	if (failure && !r->begun && !(r->sample.flags & SAMPLE_RESENT)) {
		r->sample.flags |= SAMPLE_UNSENT;
		r->sample.sent = r->sample.done;
	}
	/* Failed requests do not wait for stamps. */
	if (failure)
		match_forget(&r->conn->match, &r->tx);
	if (list_empty(&t->awaiting_stamps) && request_has_stamps(r)) {
		request_emit_one(t, r);
		return;
	}
	list_remove(&r->link);
	list_append(&t->awaiting_stamps, &r->link);
}

void request_give_up(struct load_thread *t, struct load_request *r)
{
	match_forget(&r->conn->match, &r->tx);
	request_emit(t, false);
}

void request_unqueued(struct load_thread *t, struct load_request *r)
{
	r->queued = false;
	if (r->emitted)
		request_release(t, r);
}

static uint64_t request_oldest_of(const struct link *list, uint64_t or_else)
{
	uint64_t oldest = or_else;

	for (const struct link *at = list->next; at != list; at = at->next) {
		const uint64_t intended = list_item(at, struct load_request, link)->sample.intended;

		oldest = intended < oldest ? intended : oldest;
	}
	return oldest;
}

uint64_t request_oldest(const struct load_thread *t, uint64_t or_else)
{
	const struct link *at = t->sent.next;
	uint64_t oldest = or_else;

	/*
	 * `sent` is in order of intended time, so its first request is the oldest one, except in a
	 * cluster, where requests overtake each other before they are sent. In `awaiting_stamps`,
	 * which is in order of the replies, any request may be the oldest.
	 */
	if (t->route)
		oldest = request_oldest_of(&t->sent, oldest);
	else if (at != &t->sent)
		oldest = list_item(at, struct load_request, link)->sample.intended;
	return request_oldest_of(&t->awaiting_stamps, oldest);
}
