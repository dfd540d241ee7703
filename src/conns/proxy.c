/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/proxy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "report/human.h"
#include "stats/rank.h"

#define STEPS 250   /* number that stands for a share of 1.0 in a series */
#define UNKNOWN 255 /* value of an interval of which too little time is known for a share */

/* ---- series ---- */

static double proxy_held_share(const struct event_conn *e)
{
	return conn_share(e, e->delayed_ack_ns + e->receiver_window_ns);
}

static bool proxy_has_task(const struct event_conn *e)
{
	return e->pid && conn_knows(e, CONN_KNOWS_TIMES);
}

static bool proxy_is_known(const struct event_conn *e)
{
	return (double)conn_known_ns(e) >=
	       PROXY_KNOWN_MIN * (double)(conn_known_ns(e) + e->unknown_ns);
}

/*
 * Returns the share of time without data from the application: none is on the way either, as the
 * kernel counts it. Without that count, it is the time for which the application was waited for.
 */
static double proxy_starved_share(const struct event_conn *e)
{
	const uint64_t all = e->to - e->from;

	if (!e->busy_ns || !all)
		return conn_share(e, e->sender_app_ns);
	return e->busy_ns < all ? (double)(all - e->busy_ns) / (double)all : 0;
}

/*
 * Stores a record's shares in the connection's series, for each interval that the record covers.
 * Intervals before the first record stay unknown; later ones without a record count as
 * starved, i.e. without data from the application.
 */
static void proxy_fill(struct conns *c, struct conn_series *s, const struct event_conn *e)
{
	const uint64_t ticks = c->tick < CONNS_TICKS ? c->tick : CONNS_TICKS;
	const bool known = proxy_is_known(e);

	for (uint64_t back = 1; back <= ticks && c->tick - back >= s->since; back++) {
		const uint64_t at = (c->tick - back) % CONNS_TICKS;

		if (c->tick_to_ns[at] <= e->from)
			return;
		s->held[at] = known ? (uint8_t)(proxy_held_share(e) * STEPS) : UNKNOWN;
		s->starved[at] = known ? (uint8_t)(proxy_starved_share(e) * STEPS) : UNKNOWN;
	}
}

static int proxy_new_series(struct conns *c, uint32_t conn, uint32_t pid)
{
	const struct conn_series s = { .conn = conn, .pid = pid, .since = c->tick - 1 };
	int err;

	vec_for_each(&c->series, old) {
		if (old->pid)
			continue;
		*old = s;
		c->all.items[conn].series = (uint32_t)(old - c->series.items) + 1;
		return 0;
	}
	err = vec_push(&c->series, s);
	if (!err)
		c->all.items[conn].series = (uint32_t)c->series.len;
	return err;
}

static int proxy_compare_pids(const void *x, const void *y)
{
	const struct conn_interval_record *const *a = x, *const *b = y;

	return sort_order((*a)->c.pid, (*b)->c.pid) ?: sort_order((*a)->conn, (*b)->conn);
}

/*
 * Adds the records of one task to its connections' time series. The connections get series once one
 * of them has waited for a delayed ACK or a window.
 */
static int proxy_add_task(struct conns *c, struct conn_interval_record *const *records, size_t n)
{
	bool looked_at = false;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		looked_at |= proxy_held_share(&records[i]->c) >= PROXY_HELD_SHARE ||
			     c->all.items[records[i]->conn].series;
	for (size_t i = 0; looked_at && i < n && !err; i++) {
		struct conn *conn = &c->all.items[records[i]->conn];

		if (!conn->series)
			err = proxy_new_series(c, records[i]->conn, records[i]->c.pid);
	}
	for (size_t i = 0; i < n; i++) {
		const struct conn *conn = &c->all.items[records[i]->conn];

		if (conn->series) {
			c->series.items[conn->series - 1].pid = records[i]->c.pid;
			proxy_fill(c, &c->series.items[conn->series - 1], &records[i]->c);
		}
	}
	return err;
}

int proxy_tick(struct conns *c)
{
	const uint64_t at = (c->tick - 1) % CONNS_TICKS;
	struct conn_interval_record **records =
		calloc(c->interval_records.len + 1, sizeof(*records));
	size_t n = 0, end;
	int err = 0;

	if (!records)
		return -ENOMEM;
	vec_for_each(&c->series, s) {
		s->held[at] = 0;
		s->starved[at] = STEPS;
	}
	vec_for_each(&c->interval_records, record)
		if (proxy_has_task(&record->c))
			records[n++] = record;
	qsort(records, n, sizeof(*records), proxy_compare_pids);
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i + 1; end < n && records[end]->c.pid == records[i]->c.pid; end++)
			;
		err = proxy_add_task(c, records + i, end - i);
		if (err == -E2BIG) { /* the limit of time series is reached: count this task */
			c->periods[CONNS_INTERVAL].unfollowed++;
			c->periods[CONNS_TOTAL].unfollowed++;
			err = 0;
		}
	}
	free(records);
	return err;
}

/* ---- the test ---- */

struct pairs {
	double held[CONNS_TICKS];
	double starved[PROXY_OTHERS * CONNS_TICKS];
	const struct conn_series *others[PROXY_OTHERS];
	struct spearman found[PROXY_OTHERS];
	size_t known[PROXY_OTHERS]; /* number of intervals known in both series */
	size_t m, n;
};

struct proxy_known {
	uint64_t sum;
	size_t n;
};

static uint8_t proxy_value_at(const struct conns *c, const uint8_t *ring, size_t n, size_t i)
{
	return ring[(c->tick - n + i) % CONNS_TICKS];
}

static struct proxy_known proxy_known(const struct conns *c, const uint8_t *ring, size_t n)
{
	struct proxy_known known = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (proxy_value_at(c, ring, n, i) == UNKNOWN)
			continue;
		known.sum += proxy_value_at(c, ring, n, i);
		known.n++;
	}
	return known;
}

/*
 * Copies the last `n` values of a series. Unknown values become the mean, which speaks neither for
 * nor against a correlation.
 */
static void proxy_copy(const struct conns *c, const uint8_t *ring, size_t n, double *out)
{
	const struct proxy_known known = proxy_known(c, ring, n);
	const double mean = known.n ? (double)known.sum / (double)known.n : 0;

	for (size_t i = 0; i < n; i++)
		out[i] = proxy_value_at(c, ring, n, i) == UNKNOWN ? mean
								  : proxy_value_at(c, ring, n, i);
}

/*
 * Copies the values of the intervals known in both series; returns the number of these intervals.
 */
static size_t proxy_copy_known(const struct conns *c, const struct conn_series *a,
			       const struct conn_series *b, size_t n, double *held, double *starved)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		if (proxy_value_at(c, a->held, n, i) == UNKNOWN ||
		    proxy_value_at(c, b->starved, n, i) == UNKNOWN)
			continue;
		held[m] = proxy_value_at(c, a->held, n, i);
		starved[m++] = proxy_value_at(c, b->starved, n, i);
	}
	return m;
}

/* Returns how many of the last intervals are in both series. */
static size_t proxy_common_ticks(const struct conns *c, const struct conn_series *a,
				 const struct conn_series *b)
{
	const uint64_t since = a->since > b->since ? a->since : b->since;
	const uint64_t n = c->tick - since;

	return n < CONNS_TICKS ? (size_t)n : CONNS_TICKS;
}

static bool proxy_is_held(const struct conns *c, const struct conn_series *s)
{
	const struct proxy_known known = proxy_known(c, s->held, proxy_common_ticks(c, s, s));

	return s->pid && known.n >= PROXY_TICKS_MIN &&
	       (double)known.sum >= PROXY_HELD_SHARE * STEPS * (double)known.n;
}

/* Returns whether a series varies: a constant series has no correlation. */
static bool proxy_varies(const double *x, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (x[i] != x[0])
			return true;
	return false;
}

static void proxy_gather(const struct conns *c, const struct conn_series *s, struct pairs *p)
{
	size_t m = 0;

	p->m = 0;
	p->n = proxy_common_ticks(c, s, s);
	vec_for_each(&c->series, other) {
		if (other == s || other->pid != s->pid || p->m == PROXY_OTHERS ||
		    proxy_common_ticks(c, s, other) < PROXY_TICKS_MIN)
			continue;
		p->n = proxy_common_ticks(c, s, other) < p->n ? proxy_common_ticks(c, s, other)
							      : p->n;
		p->others[p->m++] = other;
	}
	proxy_copy(c, s->held, p->n, p->held);
	for (size_t i = 0; i < p->m; i++) {
		proxy_copy(c, p->others[i]->starved, p->n, p->starved + m * p->n);
		if (proxy_varies(p->starved + m * p->n, p->n))
			p->others[m++] = p->others[i];
	}
	p->m = proxy_varies(p->held, p->n) ? m : 0;
}

/*
 * Returns 1 if the correlation of two time series is significant: compared with that of series
 * shifted in time, and by rank over intervals known in both. Else returns 0, or -ENOMEM.
 */
static int proxy_holds(const struct conns *c, const struct conn_series *s, struct pairs *p,
		       size_t i)
{
	double held[CONNS_TICKS], starved[CONNS_TICKS];
	struct spearman one;
	int err;

	if (p->found[i].p > PROXY_ALPHA_SHIFTS)
		return 0;
	p->known[i] = proxy_copy_known(c, s, p->others[i], p->n, held, starved);
	if (p->known[i] < PROXY_TICKS_MIN)
		return 0;
	err = spearman(held, starved, p->known[i], &one);
	if (err)
		return err == -ENOMEM ? err : 0;
	p->found[i].rho = one.rho;
	return one.rho >= PROXY_RHO && one.p <= PROXY_ALPHA / (double)(PROXY_TESTS * PROXY_OTHERS);
}

/*
 * Sets `best` to the index of the strongest significant correlation, or to -1. Returns 0 or
 * -ENOMEM.
 */
static int proxy_find_best(const struct conns *c, const struct conn_series *s, struct pairs *p,
			   int *best)
{
	*best = -1;
	for (size_t i = 0; i < p->m; i++) {
		int it = proxy_holds(c, s, p, i);

		if (it < 0)
			return it;
		if (it && (*best < 0 || p->found[i].rho > p->found[*best].rho))
			*best = (int)i;
	}
	return 0;
}

int proxy_find(struct conns *c, struct conn_crosses *out)
{
	struct pairs *p = malloc(sizeof(*p));
	unsigned int tests = 0;
	int err = 0, best;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < c->series.len && tests < PROXY_TESTS && !err; i++) {
		const struct conn_series *s = &c->series.items[i];

		if (!proxy_is_held(c, s))
			continue;
		proxy_gather(c, s, p);
		if (!p->m)
			continue;
		tests++;
		err = spearman_shifts(p->held, p->starved, p->m, p->n, p->found);
		err = err ? err : proxy_find_best(c, s, p, &best);
		if (err || best < 0)
			continue;
		err = vec_push(out, (struct conn_cross){
			.conn = s->conn, .class = CONN_PIPELINE_PROXY, .members = 2, .episodes = 1,
			.other = c->all.items[p->others[best]->conn].cookie,
			.intervals = (uint32_t)p->known[best], .rho = p->found[best].rho,
			.p = p->found[best].p });
		if (err == -E2BIG)
			err = 0;
	}
	free(p);
	return err;
}

void proxy_explain(const struct conn_cross *cross, struct conn_finding *t)
{
	char rho[HUMAN_MAX];

	object_add(t->evidence, "starved_cookie",
		   value_string(report_format(t->r, "%" PRIu64, cross->other)));
	object_add(t->evidence, "intervals", value_u64(cross->intervals));
	object_add(t->evidence, "rho", value_number(cross->rho));
	object_add(t->evidence, "p_value", value_number(cross->p));
	strbuf_printf(&t->message, "while this connection waits for a delayed acknowledgement or "
		      "a window, the same task sends nothing on connection %" PRIu64
		      " (rank correlation %s over %" PRIu32 " intervals)", cross->other,
		      human_rate(rho, cross->rho), cross->intervals);
	strbuf_puts(&t->advice,
		    "put a queue between the two connections, and keep reading (another "
		    "thread or an event loop) while this connection waits");
}
