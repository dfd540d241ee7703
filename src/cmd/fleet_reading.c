/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_reading.h"

#include "conns/rules.h"
#include "event/conn_times.h"

#define BIT(class) (1u << (class))
#define LOSSES (BIT(FLEET_FAST_RETRANSMIT) | BIT(FLEET_TIMEOUT))

/* The fleet's class of a problem; FLEET_CLASSES: none. */
static unsigned int fleet_reading_class(enum conn_class class)
{
	switch (class) {
	case CONN_SEND_BUFFER:
		return FLEET_SEND_BUFFER;
	case CONN_RECEIVER_WINDOW:
		return FLEET_RECEIVER_WINDOW;
	case CONN_DELAYED_ACK:
	case CONN_DELAYED_REPAIR:
		return FLEET_DELAYED_ACK;
	case CONN_FAST_RETRANSMIT:
		return FLEET_FAST_RETRANSMIT;
	case CONN_TIMEOUT:
		return FLEET_TIMEOUT;
	default:
		return FLEET_CLASSES;
	}
}

/* Returns whether samples, or the kernel's own account, tell what nearly all of the time was. */
static bool fleet_reading_knows_shares(const struct event_conn *e)
{
	const uint64_t all = e->to - e->from;

	if (!conn_knows(e, CONN_KNOWS_TIMES) || !all)
		return false;
	return (double)e->unknown_ns <= FLEET_READING_UNKNOWN * (double)all ||
	       (e->samples >= CONN_SAMPLES_MIN && 2 * e->unknown_ns <= all);
}

static void fleet_reading_put(struct fleet_reading *out, enum fleet_class class, double share)
{
	out->known |= BIT(class);
	out->share[class] = share < 0 ? 0 : share > 1 ? 1 : share;
}

/*
 * Returns whether probes repaired losses as late as timeouts would have: of a segment that was
 * alone, the kernel sends the probe when the retransmission timer would have run out.
 */
static bool fleet_reading_is_late_probe(const struct event_conn *e, const struct conn_problem *p)
{
	const uint64_t rto_us = conn_knows(e, CONN_KNOWS_GAUGES) && e->rto_us ? e->rto_us :
										CONN_TIMER_US;

	return p->class == CONN_TAIL_LOSS_PROBE && 2 * p->lost_ns >= 1000 * rto_us * e->tlp;
}

/* Adds the time lost to harmful problems, judged by this record alone. */
static void fleet_reading_put_lost(const struct event_conn *e, struct fleet_reading *out)
{
	struct conn_view view = { .c = e };
	struct conn_problem problems[RULES_MAX];

	rules_judge(&view, problems);
	for (uint32_t i = 0; i < view.judged.n; i++) {
		const struct conn_problem *p = &view.found[i];
		const bool is_late_probe = fleet_reading_is_late_probe(e, p);
		const unsigned int class = is_late_probe ? FLEET_TIMEOUT :
							   fleet_reading_class(p->class);

		if (class >= FLEET_CLASSES || p->harm != CONN_HARMFUL || p->ours)
			continue;
		out->lost_ns[class] += p->lost_ns;
		if (is_late_probe && out->known & BIT(class))
			out->share[class] = 1;
	}
}

void fleet_reading_fill(const struct event_conn *e, struct fleet_reading *out)
{
	const double all = e->to > e->from ? (double)(e->to - e->from) : 1;

	*out = (struct fleet_reading){ 0 };
	if (fleet_reading_knows_shares(e)) {
		fleet_reading_put(out, FLEET_SEND_BUFFER, (double)e->send_buffer_ns / all);
		fleet_reading_put(out, FLEET_DELAYED_ACK, (double)e->delayed_ack_ns / all);
		fleet_reading_put(out, FLEET_SENDER_APP, (double)e->sender_app_ns / all);
	}
	if (conn_knows(e, CONN_KNOWS_CHRONO))
		fleet_reading_put(out, FLEET_RECEIVER_WINDOW, (double)e->kernel_rwnd_ns / all);
	if (conn_knows(e, CONN_KNOWS_LOSSES))
		fleet_reading_put(out, FLEET_FAST_RETRANSMIT, e->fast_retransmit > 0);
	if (conn_knows(e, CONN_KNOWS_RTO))
		fleet_reading_put(out, FLEET_TIMEOUT, e->rto > 0);
	fleet_reading_put_lost(e, out);
}

void fleet_reading_idle(uint32_t known, struct fleet_reading *out)
{
	*out = (struct fleet_reading){ .known = known };
	out->share[FLEET_SENDER_APP] = 1;
}

/* Sets a part's times, and its share of the time lost to other classes than losses. */
static void fleet_reading_cut(const struct fleet_reading *whole, uint64_t from, uint64_t to,
			      bool losses, struct fleet_reading *out)
{
	const double part = (double)(to - from) / (double)(whole->to_ns - whole->from_ns);

	*out = *whole;
	out->from_ns = from;
	out->to_ns = to;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		const bool is_loss = LOSSES & BIT(class);

		if (!is_loss)
			out->lost_ns[class] = (uint64_t)((double)whole->lost_ns[class] * part);
		if (!is_loss || losses)
			continue;
		out->share[class] = 0;
		out->lost_ns[class] = 0;
	}
}

unsigned int fleet_reading_divide(const struct fleet_reading *whole, uint64_t loss_from,
				  uint64_t loss_to, const struct fleet_grid *grid,
				  struct fleet_reading parts[FLEET_READING_PARTS])
{
	const uint64_t start = grid->start_ns, step = grid->step_ns;
	uint64_t from = whole->from_ns, to = whole->to_ns;
	unsigned int n = 0;

	if (loss_from > from && loss_from <= to && loss_from > start)
		from = loss_from - (loss_from - start) % step;
	if (loss_to >= from && loss_to < to && loss_to > start)
		to = loss_to - (loss_to - start) % step + step;
	from = from > whole->from_ns ? from : whole->from_ns;
	to = to < whole->to_ns ? to : whole->to_ns;
	if (from > whole->from_ns)
		fleet_reading_cut(whole, whole->from_ns, from, false, &parts[n++]);
	if (from < to)
		fleet_reading_cut(whole, from, to, true, &parts[n++]);
	if (to < whole->to_ns)
		fleet_reading_cut(whole, to, whole->to_ns, false, &parts[n++]);
	return n;
}
