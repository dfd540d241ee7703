/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/conns_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "probe/pair.h"
#include "probe/prog_stats.h"

#define PATIENCE_S 1

/* How long the statistics are on, and how far apart that is: once at first, then on average. */
#define LOOK_NS  (50 * NS_PER_MS)
#define APART_NS (1250 * NS_PER_MS)
/* For how many runs the first prices stand. */
#define PRIOR 8.0
/* Of a run whose price nobody may find out: above what was ever measured with cold caches. */
#define ASSUMED_NS 1000.0

/* ---- the kernel's statistics ---- */

static enum conn_use use_of(const char *program)
{
	static const struct {
		const char *name;
		enum conn_use use;
	} uses[] = {
		{ "conn_send", USE_SEND }, { "conn_send_fexit", USE_SEND },
		{ "conn_recv", USE_RECV }, { "conn_recv_fexit", USE_RECV },
		{ "conn_ops", USE_RTT }, { "conn_timer", USE_TIMER },
		{ "conn_state", USE_STATE },
	};

	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		if (!strcmp(uses[i].name, program))
			return uses[i].use;
	return USE_RARE;
}

void conns_cost_stats(const struct bpf_object *object, uint64_t ns[USE_MAX],
		      uint64_t runs[USE_MAX])
{
	struct bpf_program *program;

	memset(ns, 0, USE_MAX * sizeof(*ns));
	memset(runs, 0, USE_MAX * sizeof(*runs));
	bpf_object__for_each_program(program, object) {
		enum conn_use use = use_of(bpf_program__name(program));

		if (bpf_program__expected_attach_type(program) != BPF_TRACE_ITER &&
		    bpf_program__type(program) != BPF_PROG_TYPE_SYSCALL)
			prog_stats_add(program, &ns[use], &runs[use]);
	}
}

/* What the statistics have gained since `then`, net of what they take. */
static void gained(const struct conns_cost *c, const struct bpf_object *object,
		   struct conns_cost_at *then, double net[USE_MAX])
{
	struct conns_cost_at now = { 0 };

	conns_cost_stats(object, now.ns, now.runs);
	for (int i = 0; i < USE_MAX; i++)
		net[i] = (double)(now.ns[i] - then->ns[i]) -
			 c->floor_ns * (double)(now.runs[i] - then->runs[i]);
	memcpy(then->ns, now.ns, sizeof(now.ns));
	memcpy(then->runs, now.runs, sizeof(now.runs));
}

/* ---- how often ---- */

/* Runs, and how far apart on one CPU: there are (sum n)^2 / sum n^2 of them in effect. */
static void count_runs(struct conns_cost *c, const struct conn_counts *counts, double n[USE_MAX],
		       double gap_ns[USE_MAX])
{
	uint64_t now = clock_mono_ns(clock_system());
	double elapsed = (double)(now - c->at), squares[USE_MAX] = { 0 };

	c->at = now;
	memset(n, 0, USE_MAX * sizeof(*n));
	for (int cpu = 0; cpu < CONN_CPUS; cpu++) {
		for (int i = 0; i < USE_MAX; i++) {
			uint64_t used = counts[cpu].used[i];
			/* Additions may be lost, so that it goes back. */
			double more = used > c->used[cpu][i] ?
				      (double)(used - c->used[cpu][i]) : 0;

			c->used[cpu][i] = used;
			n[i] += more;
			squares[i] += more * more;
		}
	}
	for (int i = 0; i < USE_MAX; i++)
		gap_ns[i] = n[i] > 0 ? elapsed * (n[i] * n[i] / squares[i]) / n[i] : elapsed;
}

/* Of all but the dearest: while a CPU is taken away, the time of the program on it goes on. */
static void sum_looks(const struct conns_look *looks, double *ns, double *n)
{
	const struct conns_look *worst = NULL;

	*ns = *n = 0;
	for (int i = 0; i < CONNS_LOOKS; i++) {
		const struct conns_look *look = &looks[i];

		if (look->n < 1)
			continue;
		*ns += look->ns;
		*n += look->n;
		if (!worst || look->ns / look->n > worst->ns / worst->n)
			worst = look;
	}
	if (worst && worst->n < *n) {
		*ns -= worst->ns;
		*n -= worst->n;
	}
}

/* Of one run; false: it is not known. */
static bool price_of(const struct conns_cost *c, int use, double gap_ns, double *ns)
{
	const struct price *price = &c->price[use];
	double n;

	sum_looks(c->looks[use], ns, &n);
	if (price->known) {
		*ns += PRIOR * price_at(price, gap_ns);
		n += PRIOR;
	}
	*ns = n > 0 ? fmax(*ns / n, 0) : ASSUMED_NS;
	return n > 0;
}

bool conns_cost_since(struct conns_cost *c, const struct bpf_object *object,
		      const struct conn_counts *counts, struct conns_push *push)
{
	double net[USE_MAX], n[USE_MAX], gap_ns[USE_MAX], measured = 0, estimate = c->looks_ns;
	bool on = prog_stats_are_on(), known = true;
	double each[USE_MAX] = { 0 };

	gained(c, object, &c->last, net);
	count_runs(c, counts, n, gap_ns);
	c->looks_ns = 0;
	for (int i = 0; i < USE_MAX; i++) {
		measured += net[i];
		if (n[i] < 1)
			continue;
		known &= price_of(c, i, gap_ns[i], &each[i]);
		estimate += n[i] * each[i];
	}
	push->exact = on && c->were_on;
	c->were_on = on;
	push->ns = (uint64_t)(push->exact ? fmax(measured, 0) : estimate);
	push->ends_ns = (uint64_t)(n[USE_STATE] * each[USE_STATE]);
	if (push->ends_ns > push->ns)
		push->ends_ns = push->ns;
	return push->exact || known;
}

/* ---- looking ---- */

static void begin_look(struct conns_cost *c, const struct bpf_object *object, uint64_t now)
{
	double net[USE_MAX];

	c->statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (c->statistics < 0) { /* it may be for want of a descriptor, but hardly is */
		c->due = now + 16 * APART_NS;
		return;
	}
	gained(c, object, &c->look, net);
	c->due = now + LOOK_NS;
}

static void end_look(struct conns_cost *c, const struct bpf_object *object, uint64_t now)
{
	const struct conns_cost_at before = c->look;
	double net[USE_MAX];

	gained(c, object, &c->look, net);
	close(c->statistics);
	c->statistics = -1;
	for (int i = 0; i < USE_MAX; i++) {
		double n = (double)(c->look.runs[i] - before.runs[i]);

		c->looks[i][c->turn % CONNS_LOOKS] = (struct conns_look){ .ns = net[i], .n = n };
		c->looks_ns += c->floor_ns * n;
	}
	c->turn++;
	c->due = now + (uint64_t)(APART_NS * (0.5 + rng_uniform(&c->rng)));
}

uint64_t conns_cost_look(struct conns_cost *c, const struct bpf_object *object, uint64_t now)
{
	if (now < c->due)
		return c->due;
	if (c->statistics >= 0)
		end_look(c, object, now);
	else if (prog_stats_are_on())
		c->due = now + APART_NS;
	else
		begin_look(c, object, now);
	return c->due;
}

/* ---- prices ---- */

/* Nothing of ours waits for long. */
static bool connect_pair(struct loopback_pair *pair)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int one = 1;

	if (loopback_pair(AF_INET, SOCK_STREAM, pair))
		return false;
	for (int i = 0; i < 2; i++) {
		int fd = i ? pair->rx : pair->tx;

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	return true;
}

/* There and back. */
static bool talk(const struct loopback_pair *pair)
{
	char byte = 1;

	return send(pair->tx, &byte, 1, MSG_NOSIGNAL) == 1 && recv(pair->rx, &byte, 1, 0) == 1 &&
	       send(pair->rx, &byte, 1, MSG_NOSIGNAL) == 1 && recv(pair->tx, &byte, 1, 0) == 1;
}

/* A connection of its own, so that the rare programs run as well. */
static bool run_batch(struct conns_cost *c, const struct bpf_object *object,
		      const struct conn_counts *counts, int pace,
		      struct price_sample sample[USE_MAX])
{
	double net[USE_MAX], n[USE_MAX], gap_ns[USE_MAX];
	struct loopback_pair pair;
	bool connected = connect_pair(&pair), done = connected;

	for (uint32_t i = 0; i < price_paces[pace].messages && done; i++) {
		if (price_paces[pace].pause_ns)
			clock_sleep_until(clock_system(), clock_mono_ns(clock_system()) +
					  price_paces[pace].pause_ns);
		done = talk(&pair);
	}
	if (connected)
		loopback_pair_close(&pair);
	gained(c, object, &c->last, net);
	count_runs(c, counts, n, gap_ns);
	for (int i = 0; i < USE_MAX; i++)
		sample[i] = (struct price_sample){
			/* So little that the floor's error is more: it is something. */
			.ns = net[i] > n[i] ? net[i] : n[i], .n = n[i],
			.gaps_ns = n[i] * gap_ns[i],
		};
	return done;
}

/* What hardly runs in so short a time is taken at its mean, whenever it runs. */
static void flat(struct price *price, const struct price_sample (*samples)[PRICE_BATCHES])
{
	double ns = 0, n = 0;

	for (int i = 0; i < PRICE_POINTS * PRICE_BATCHES; i++) {
		ns += samples[i / PRICE_BATCHES][i % PRICE_BATCHES].ns;
		n += samples[i / PRICE_BATCHES][i % PRICE_BATCHES].n;
	}
	*price = (struct price){ .known = n > 0 };
	for (int i = 0; i < PRICE_POINTS && n > 0; i++) {
		price->at[i].gap_ns = 1000.0 * (i + 1);
		price->at[i].ns = ns / n;
	}
}

void conns_cost_init(struct conns_cost *c, const struct bpf_object *object,
		     const struct conn_counts *counts)
{
	struct price_sample samples[USE_MAX][PRICE_POINTS][PRICE_BATCHES] = { 0 };
	int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	bool done = statistics >= 0;

	c->statistics = -1;
	rng_init(&c->rng, clock_mono_ns(clock_system()));
	c->floor_ns = done ? price_floor() : 0;
	for (int i = -1; i < PRICE_POINTS * PRICE_BATCHES && done; i++) { /* -1: to warm up */
		struct price_sample of[USE_MAX];

		done = run_batch(c, object, counts, i < 0 ? 0 : i / PRICE_BATCHES, of);
		for (int u = 0; u < USE_MAX && i >= 0; u++)
			samples[u][i / PRICE_BATCHES][i % PRICE_BATCHES] = of[u];
	}
	if (statistics >= 0)
		close(statistics);
	for (int u = 0; u < USE_MAX && done; u++) {
		if (u <= USE_RTT)
			price_draw(&c->price[u], samples[u]);
		else
			flat(&c->price[u], samples[u]);
	}
}

void conns_cost_release(struct conns_cost *c)
{
	if (c->statistics >= 0)
		close(c->statistics);
	c->statistics = -1;
}
