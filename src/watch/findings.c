/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/findings.h"

#include <string.h>

#include "base/strbuf.h"
#include "event/names.h"
#include "report/human.h"
#include "stats/bucket_edges.h"
#include "watch/culprits.h"

/*
 * Delays below 0.1 ms are not reported: they are context switches, cache misses or waits for
 * another message, and the table shows them.
 */
#define NOTABLE_NS 100000
/* A step is reported if it has more of the time than all other steps together. */
#define DOMINANT_SHARE 0.5
/*
 * Waits for a CPU are reported from this number of messages on, and if they are this share of the
 * time to `read`: each machine has some.
 */
#define WAITED_MESSAGES 10
#define WAITED_SHARE 0.01
/*
 * Share of the time to `read` from which stops of the reader by a signal or a tracer are reported.
 */
#define STOPPED_SHARE 0.05
/* The packets that make half of a step's time are counted if they are this share, or less. */
#define FEW_SHARE 0.05
/* Number of names that keep a sentence readable; the JSON has more. */
#define CULPRITS_IN_SENTENCE 3

/* ---- pooled distributions ---- */

/* Sums a distribution over the rows of a stage; 0 stands for any protocol or origin. */
int watch_pool_rows(const struct watch *w, enum watch_span span, unsigned int dist,
			     unsigned int stage, unsigned int protocol, unsigned int origin,
			     struct hist *sum)
{
	int err = 0;

	hist_init(sum, BUCKET_SCHEMA_MAX);
	vec_for_each(&w->rows, item) {
		const struct watch_row *row = *item;

		if (row->id.stage != stage || (protocol && row->id.protocol != protocol) ||
		    (origin && row->id.origin != origin))
			continue;
		err = hist_merge(sum, &row->hists[span][dist]);
		if (err)
			break;
	}
	return err;
}

static uint64_t findings_quantile_ns(const struct hist *h, double q)
{
	struct hist_quantile found;

	return hist_quantile(h, q, &found) ? 0 : found.value;
}

/* ---- waiting for a CPU ---- */

static void findings_list_culprits(const struct watch *w, enum watch_span span, struct strbuf *out)
{
	struct watch_culprits c;
	char buf[HUMAN_MAX];

	watch_commands(w, span, CULPRITS_IN_SENTENCE, &c);
	if (!c.total_ns)
		return;
	for (size_t i = 0; i < c.n; i++) {
		const struct watch_culprit *by = &c.list[i];

		strbuf_printf(out, "%s%.*s (", i ? ", " : " CPU held by: ", EVENT_COMM_LEN,
			      by->task->id.comm);
		if (by->processes > 1)
			strbuf_printf(out, "%u processes", by->processes);
		else
			strbuf_printf(out, "pid %u", by->task->id.pid);
		strbuf_printf(out, ") %s",
			      human_fraction(buf, (double)by->ns / (double)c.total_ns));
	}
	if (c.others_ns)
		strbuf_printf(out, "%sother tasks %s", c.n ? ", " : " CPU held by: ",
			      human_fraction(buf, (double)c.others_ns / (double)c.total_ns));
	strbuf_putc(out, '.');
}

/* Counts the values of NOTABLE_NS or more, from the first bucket that begins at or after it. */
static uint64_t findings_count_notable(const struct hist *h)
{
	uint64_t sum = h->over, count;
	int32_t index = INT32_MIN;

	while (hist_next(h, &index, &count)) {
		if (bucket_edges_floor(h->schema, index - 1) >= NOTABLE_NS)
			sum += count;
	}
	return sum;
}

int watch_cpu_waits(const struct watch *w, enum watch_span span, struct watch_waits *out)
{
	struct hist wait, latency;
	uint64_t notable;
	int err;

	*out = (struct watch_waits){ .least_ns = NOTABLE_NS };
	hist_init(&latency, BUCKET_SCHEMA_MAX);
	err = watch_pool_rows(w, span, DIST_CPU_WAIT, STAGE_READ, 0, 0, &wait);
	if (!err)
		err = watch_pool_rows(w, span, DIST_LATENCY, STAGE_READ, 0, 0, &latency);
	if (!err && wait.count) {
		notable = findings_count_notable(&wait);
		out->share = (double)notable / (double)wait.count;
		out->median_ns = findings_quantile_ns(&wait, 1 - out->share / 2);
		out->notable = notable >= WAITED_MESSAGES &&
			       (double)wait.sum >= WAITED_SHARE * (double)latency.sum;
	}
	hist_release(&wait);
	hist_release(&latency);
	return err;
}

/* Reports waits for a CPU of NOTABLE_NS or more; nearly every woken reader has shorter ones. */
static int findings_add_cpu_wait(const struct watch *w, enum watch_span span, struct report *r)
{
	struct strbuf culprits = STRBUF_INIT(1024);
	char share[HUMAN_MAX], least[HUMAN_MAX], median[HUMAN_MAX];
	struct watch_waits waits;
	int err = watch_cpu_waits(w, span, &waits);

	if (!err && waits.notable) {
		findings_list_culprits(w, span, &culprits);
		report_finding(r,
			       "%s of the messages waited %s or longer for a CPU, with a median "
			       "wait of %s.%s",
			       human_fraction(share, waits.share), human_ns(least, waits.least_ns),
			       human_ns(median, waits.median_ns), strbuf_str(&culprits));
		err = culprits.error;
	}
	strbuf_release(&culprits);
	return err;
}

/* ---- the step that holds most of the time ---- */

struct dominant_stage {
	unsigned int protocol, origin, stage, before;
	double sum_ns, total_ns;
	uint64_t reads;
};

/* Returns the distribution of a stage's own time: its step or, at the first stage, its latency. */
static unsigned int findings_own_time(unsigned int stage)
{
	return stage == STAGE_LINK ? DIST_LATENCY : DIST_STEP;
}

/*
 * Returns the stage that took the most time of a protocol's packets with one origin; its `stage` is
 * 0 if there is none.
 */
static struct dominant_stage findings_find_dominant(const struct watch *w, enum watch_span span,
						    unsigned int protocol, unsigned int origin)
{
	struct dominant_stage d = { .protocol = protocol, .origin = origin };
	double sums[STAGE_MAX] = { 0 };
	unsigned int before = STAGE_NONE;

	vec_for_each(&w->rows, item) {
		const struct watch_row *row = *item;

		if (row->id.protocol != protocol || row->id.origin != origin ||
		    row->id.direction != DIR_INGRESS)
			continue;
		sums[row->id.stage] +=
			(double)row->hists[span][findings_own_time(row->id.stage)].sum;
		if (row->id.stage == STAGE_READ)
			d.reads += row->hists[span][DIST_LATENCY].count;
	}
	for (unsigned int place = 0; place < STAGE_MAX; place++) {
		unsigned int stage = stage_at_place(place);

		if (sums[stage] > d.sum_ns) {
			d.sum_ns = sums[stage];
			d.stage = stage;
			d.before = before;
		}
		d.total_ns += sums[stage];
		if (sums[stage] > 0)
			before = stage;
	}
	return d;
}

/*
 * Returns the dominant stage of the origin that has the most time, among origins with measured
 * reads. Its `stage` is 0 if there is none.
 */
static struct dominant_stage findings_any_origin(const struct watch *w, enum watch_span span,
						 unsigned int protocol)
{
	struct dominant_stage best = { 0 };

	for (unsigned int origin = 0; origin < ORIGIN_MAX; origin++) {
		struct dominant_stage d = findings_find_dominant(w, span, protocol, origin);

		if (d.reads && d.total_ns > best.total_ns)
			best = d;
	}
	return best;
}

/* Returns the reader's name if the run measured one process, else "the application". */
static const char *findings_reader_name(const struct watch *w)
{
	return w->target && strstr(w->target, "(pid ") ? w->target : "the application";
}

static double findings_share_total(const struct event_share *s)
{
	return (double)s->busy_ns + (double)s->wake_ns + (double)s->wait_ns + (double)s->run_ns +
	       (double)s->stopped_ns;
}

static bool findings_mostly_stopped(const struct event_share *s)
{
	return s->stopped_ns > s->wake_ns + s->wait_ns + s->run_ns && s->stopped_ns > s->busy_ns;
}

/*
 * Returns the reader's state if it explains most of the time from `enqueued` to `read`, else NULL.
 */
static const char *findings_reader_state(const struct event_share *s)
{
	uint64_t known = s->wake_ns + s->wait_ns + s->run_ns;

	if (findings_mostly_stopped(s))
		return "stopped (by a signal or a tracer)";
	return s->busy_ns > known ? "busy or asleep" : NULL;
}

/*
 * Returns true if another task had the CPU for most of the wait. Otherwise the CPU was idle and had
 * to wake up.
 */
static bool findings_cpu_was_held(const struct watch *w, enum watch_span span,
				  unsigned int protocol)
{
	struct hist held;
	bool most;

	if (watch_pool_rows(w, span, DIST_CPU_WAIT, STAGE_READ, protocol, 0, &held))
		held.sum = 0;
	most = held.sum > w->shares[span][protocol].wait_ns / 2;
	hist_release(&held);
	return most;
}

/* Returns true for the stages between the socket's queue and the application. */
static bool findings_is_at_reader(unsigned int stage)
{
	return stage_place(stage) > stage_place(STAGE_ENQUEUED) &&
	       stage_place(stage) <= stage_place(STAGE_READ);
}

static void findings_put_where(const struct watch *w, enum watch_span span,
			       const struct dominant_stage *d, struct strbuf *out)
{
	const struct event_share *share = &w->shares[span][d->protocol];
	const char *state = findings_reader_state(share);

	if (findings_is_at_reader(d->stage) && state)
		strbuf_printf(out, "while %s was %s, and not reading", findings_reader_name(w),
			      state);
	else if (d->stage == STAGE_RUNNING && findings_cpu_was_held(w, span, d->protocol))
		strbuf_puts(out, "waiting for a CPU, from `runnable` to `running`");
	else if (d->stage == STAGE_RUNNING)
		strbuf_puts(out, "from `runnable` to `running`, while an idle CPU woke up");
	else if (d->stage == STAGE_READ && share->wait_ns > share->run_ns)
		strbuf_puts(out, "while the reader was ready to run and had no CPU (preempted, or "
			    "its cgroup's CPU quota was used up)");
	else if (d->before)
		strbuf_printf(out, "from `%s` to `%s`", stage_name(d->before),
			      stage_name(d->stage));
	else
		strbuf_printf(out, "from the origin to `%s`", stage_name(d->stage));
}

/* Adds "; half of it in 12 packets" if few packets make half of a step's time. */
static void findings_put_few(const struct hist *step, struct strbuf *out)
{
	const uint64_t few = hist_count_half(step);
	char n[HUMAN_MAX];

	if ((double)few <= FEW_SHARE * (double)step->count)
		strbuf_printf(out, "; half of it in %s", human_counted(n, few, "packet"));
}

/* Adds ", 1.3 ms at p99" if enough values were measured; ~ marks few. */
static void findings_put_p99(const struct hist *step, struct strbuf *out)
{
	const double beyond = hist_beyond(step->count, 0.99);
	char p99[HUMAN_MAX];

	if (beyond >= 1)
		strbuf_printf(out, ", %s%s at p99", beyond < REPORT_BEYOND_MIN ? "~" : "",
			      human_ns(p99, findings_quantile_ns(step, 0.99)));
}

/*
 * Reports which share of the time passed at a step, and the step's mean, p99 and maximum. Returns 0
 * or -ENOMEM.
 */
static int findings_add_passed(double share, const char *whose, const char *where,
				const struct hist *step, struct report *r)
{
	char part[HUMAN_MAX], mean[HUMAN_MAX], most[HUMAN_MAX];
	struct strbuf tail = STRBUF_INIT(256);
	int err;

	findings_put_p99(step, &tail);
	strbuf_printf(&tail, ", %s at most", human_ns(most, findings_quantile_ns(step, 1)));
	findings_put_few(step, &tail);
	report_finding(r, "%s of the %s passed %s: %s on average%s.", human_fraction(part, share),
		       whose, where, human_ns(mean, step->sum / step->count), strbuf_str(&tail));
	err = tail.error;
	strbuf_release(&tail);
	return err;
}

/* Returns true for a step worth reporting. A saturated sum has no share and no mean. */
static bool findings_is_notable(const struct hist *step)
{
	return step->count && step->sum != UINT64_MAX &&
	       findings_quantile_ns(step, 0.999) >= NOTABLE_NS;
}

static int findings_add_dominant(const struct watch *w, enum watch_span span, unsigned int protocol,
				 struct report *r)
{
	struct dominant_stage d = findings_any_origin(w, span, protocol);
	struct strbuf where = STRBUF_INIT(1024);
	struct hist step = { 0 }, read = { 0 };
	int err;

	if (!d.stage || d.sum_ns < DOMINANT_SHARE * d.total_ns)
		return 0;
	err = watch_pool_rows(w, span, findings_own_time(d.stage), d.stage, d.protocol, d.origin,
				&step);
	if (!err)
		err = watch_pool_rows(w, span, DIST_LATENCY, STAGE_READ, d.protocol, d.origin,
					&read);
	if (err || !read.count || !findings_is_notable(&step))
		goto out;
	findings_put_where(w, span, &d, &where);
	err = findings_add_passed(d.sum_ns / d.total_ns,
				  protocol == PROTO_UDP ? "UDP time to `read`"
							: "TCP time to `read`",
				  strbuf_str(&where), &step, r);
	err = err ? err : where.error;
out:
	hist_release(&step);
	hist_release(&read);
	strbuf_release(&where);
	return err;
}

/* Reports stops of the reader that take STOPPED_SHARE of the time or more, but not most of it. */
static void findings_add_stopped(const struct watch *w, enum watch_span span, unsigned int protocol,
				 struct report *r)
{
	const struct event_share *s = &w->shares[span][protocol];
	double total = findings_share_total(s);
	char share[HUMAN_MAX], mean[HUMAN_MAX];

	if (!s->packets || findings_mostly_stopped(s) ||
	    (double)s->stopped_ns < STOPPED_SHARE * total)
		return;
	report_finding(r, "%s of the %s time to `read` passed while %s was stopped (by a signal or "
		       "a tracer): %s on average.",
		       human_fraction(share, (double)s->stopped_ns / total),
		       protocol == PROTO_UDP ? "UDP" : "TCP", findings_reader_name(w),
		       human_ns(mean, s->stopped_ns / s->packets));
}

/* ---- sent packets ---- */

/* Writes where a sent packet's time passed: before its departure, or between two later stages. */
static void findings_put_sending(unsigned int stage, unsigned int protocol, struct strbuf *out)
{
	if (stage == STAGE_SEGMENT && protocol == PROTO_UDP)
		strbuf_puts(out, "in the send call, before UDP passed them to IP (waits for more "
			    "data or for space in the send buffer)");
	else if (stage == STAGE_SEGMENT)
		strbuf_puts(out, "before TCP sent them (receive window, congestion window, TCP "
			    "small queues, Nagle's algorithm, pacing)");
	else if (stage == STAGE_DRIVER)
		strbuf_puts(out, "in the queueing discipline, from `qdisc` to `driver`");
	else if (stage == STAGE_SENT)
		strbuf_puts(out, "in the driver and the network card, from `driver` to `sent`");
	else if (stage == STAGE_QDISC)
		strbuf_printf(out, "between %s and the queueing discipline",
			      protocol == PROTO_UDP ? "UDP" : "TCP");
	else
		strbuf_printf(out, "before `%s`", stage_name(stage));
}

static uint64_t findings_excluded(const struct watch *w, enum watch_span span, const char *reason)
{
	uint64_t sum = 0;

	vec_for_each(&w->counts, c) {
		const char *name = watch_name(w, DICT_STRING, c->id.reason);

		if (c->id.what == COUNT_EXCLUDED && watch_is_counted(w, c) && name &&
		    strcmp(name, reason) == 0)
			sum += c->count[span];
	}
	return sum;
}

/*
 * Returns the number of packets that passed several devices, e.g. a tunnel and a card: their time
 * in the queue cannot be told from that in the card.
 */
static uint64_t findings_passed_several(const struct watch *w, enum watch_span span)
{
	return findings_excluded(w, span, "stacked-device") +
	       findings_excluded(w, span, "encapsulated");
}

/*
 * Reports the longest step of sent packets, up to `segment` or between two later stages, if it
 * dominates.
 */
static int findings_add_sending(const struct watch *w, enum watch_span span, unsigned int protocol,
				struct report *r)
{
	double total = 0, most_ns = 0;
	struct hist step = { 0 };
	struct strbuf where = STRBUF_INIT(256);
	unsigned int at = STAGE_NONE;
	int err = 0;

	for (unsigned int place = 0; place < STAGE_MAX && !err; place++) {
		unsigned int stage = stage_at_place(place);

		if (!(SENDING_STAGES >> stage & 1))
			continue;
		err = watch_pool_rows(w, span, DIST_STEP, stage, protocol, 0, &step);
		if ((double)step.sum > most_ns) {
			most_ns = (double)step.sum;
			at = stage;
		}
		total += (double)step.sum;
		hist_release(&step);
	}
	if (!err && at && most_ns >= DOMINANT_SHARE * total)
		err = watch_pool_rows(w, span, DIST_STEP, at, protocol, 0, &step);
	if (err || !findings_is_notable(&step) ||
	    (stage_place(at) > stage_place(STAGE_QDISC) && findings_passed_several(w, span)))
		goto out;
	findings_put_sending(at, protocol, &where);
	err = findings_add_passed(most_ns / total,
				  protocol == PROTO_UDP ? "time of sent datagrams"
							: "time of sent packets",
				  strbuf_str(&where), &step, r);
	err = err ? err : where.error;
out:
	hist_release(&step);
	strbuf_release(&where);
	return err;
}

/* A distribution as text; `median` and `most` are empty if it has no values. */
struct latency_spread {
	uint64_t n;
	char median[HUMAN_MAX], most[HUMAN_MAX];
};

static int findings_spread(const struct watch *w, enum watch_span span, enum hist_dist dist,
			   enum stage stage, struct latency_spread *s)
{
	struct hist hist;
	int err = watch_pool_rows(w, span, dist, stage, 0, 0, &hist);

	*s = (struct latency_spread){ .n = err ? 0 : hist.count };
	if (s->n) {
		human_ns(s->median, findings_quantile_ns(&hist, 0.5));
		human_ns(s->most, findings_quantile_ns(&hist, 1));
	}
	hist_release(&hist);
	return err;
}

static int findings_add_pacing(const struct watch *w, enum watch_span span, struct report *r)
{
	uint64_t ignored = findings_excluded(w, span, "pacing-ignored");
	char count[HUMAN_MAX];
	struct latency_spread ahead;
	int err = findings_spread(w, span, DIST_PACING, STAGE_QDISC, &ahead);

	if (ahead.n)
		report_finding(r, "%s paced: the time in the queueing discipline was %s at the "
			       "median, %s at most. Pacing is not counted as latency.",
			       human_were(count, ahead.n, "packet"), ahead.median, ahead.most);
	if (ignored && !findings_passed_several(w, span))
		report_finding(r, "%s handed to the driver before the departure time: the "
			       "queueing discipline does not pace (fq does).",
			       human_were(count, ignored, "packet"));
	return err;
}

/* Reports waits behind a hole in TCP's sequence numbers, which this host did not cause. */
static int findings_add_hol(const struct watch *w, enum watch_span span, struct report *r)
{
	uint64_t aside = findings_excluded(w, span, "head-of-line");
	char count[HUMAN_MAX];
	struct latency_spread waited;
	int err = findings_spread(w, span, DIST_HOL, STAGE_ENQUEUED, &waited);

	if (waited.n)
		report_finding(r, "%s waited behind a lost or reordered TCP segment, for %s at "
			       "the median, %s at most. No other latency includes this wait.",
			       human_counted(count, waited.n, "packet"), waited.median,
			       waited.most);
	if (aside)
		report_finding(r, "%s excluded at `enqueued` and later stages for waiting behind a "
			       "lost or reordered TCP segment. --hol separate measures the wait.",
			       human_were(count, aside, "packet"));
	return err;
}

/* Reports how many packets went to receivers on this host, and how many passed several devices. */
static void findings_add_handed(const struct watch *w, enum watch_span span, struct report *r)
{
	uint64_t n = findings_excluded(w, span, "given-to-receiver");
	char count[HUMAN_MAX];

	if (findings_passed_several(w, span))
		report_finding(r, "%s measured at the first of several devices (VLAN, bond, "
			       "bridge, tunnel). Choose another with --ifname.",
			       human_were(count, findings_passed_several(w, span), "packet"));
	if (n)
		report_finding(r, "%s delivered to a receiver on this host (loopback, veth): "
			       "`sent` only measures packets that a network card has sent.",
			       human_were(count, n, "packet"));
}

/* ---- unread data ---- */

static int findings_add_unread(const struct watch *w, enum watch_span span, struct report *r)
{
	const struct event_binding *read = NULL;
	struct hist queued = { 0 }, done = { 0 };
	char buf[HUMAN_MAX];
	int err;

	vec_for_each(&w->bindings, b) {
		if (b->stage == STAGE_READ && b->bound)
			read = b;
	}
	err = watch_pool_rows(w, span, DIST_LATENCY, STAGE_ENQUEUED, 0, 0, &queued);
	if (!err)
		err = watch_pool_rows(w, span, DIST_LATENCY, STAGE_READ, 0, 0, &done);
	if (!err && read && queued.count && !done.count)
		report_finding(r, "%s reached a socket's queue; none was read.",
			       human_counted(buf, queued.count, "packet"));
	hist_release(&queued);
	hist_release(&done);
	return err;
}

int watch_findings(const struct watch *w, enum watch_span span, struct report *r)
{
	int err = findings_add_cpu_wait(w, span, r);

	if (!err)
		err = findings_add_dominant(w, span, PROTO_TCP, r);
	if (!err)
		err = findings_add_dominant(w, span, PROTO_UDP, r);
	findings_add_stopped(w, span, PROTO_TCP, r);
	findings_add_stopped(w, span, PROTO_UDP, r);
	if (!err)
		err = findings_add_sending(w, span, PROTO_TCP, r);
	if (!err)
		err = findings_add_sending(w, span, PROTO_UDP, r);
	if (!err)
		err = findings_add_pacing(w, span, r);
	findings_add_handed(w, span, r);
	if (!err)
		err = findings_add_hol(w, span, r);
	return err ? err : findings_add_unread(w, span, r);
}
