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
#include "clock/clock.h"
#include "probe/pair.h"
#include "probe/prog_stats.h"

#define PATIENCE_S 1

/* Runs are timed until about so many between two calls; never more seldom than one in TIME_MOST. */
#define TIMED_AIM 256
#define TIME_MOST 64
/* Of how many timed ones the first prices stand for, and what older ones keep of their weight. */
#define PRIOR 8.0
#define KEEP 0.9

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

		if (bpf_program__expected_attach_type(program) != BPF_TRACE_ITER)
			prog_stats_add(program, &ns[use], &runs[use]);
	}
}

static void gained(struct conns_cost *c, const struct bpf_object *object, double net[USE_MAX])
{
	uint64_t ns[USE_MAX], runs[USE_MAX];

	conns_cost_stats(object, ns, runs);
	for (int i = 0; i < USE_MAX; i++)
		net[i] = (double)(ns[i] - c->ns[i]) - c->floor_ns * (double)(runs[i] - c->runs[i]);
	memcpy(c->ns, ns, sizeof(ns));
	memcpy(c->runs, runs, sizeof(runs));
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

/* What was timed since: ns and runs of each use; returns what one timed run took more, ns. */
static double take_timed(struct conns_cost *c, const struct conn_counts *counts, double ns[USE_MAX],
			 double n[USE_MAX])
{
	uint64_t sum_ns[USE_MAX] = { 0 }, sum[USE_MAX] = { 0 }, clock = 0;
	double took, all = 0;

	for (int cpu = 0; cpu < CONN_CPUS; cpu++) {
		clock += counts[cpu].clock_ns;
		for (int i = 0; i < USE_MAX; i++) {
			sum_ns[i] += counts[cpu].timed_ns[i];
			sum[i] += counts[cpu].timed[i];
		}
	}
	for (int i = 0; i < USE_MAX; i++) {
		/* Additions may be lost, as above. */
		ns[i] = sum_ns[i] > c->timed_ns[i] ? (double)(sum_ns[i] - c->timed_ns[i]) : 0;
		n[i] = sum[i] > c->timed[i] ? (double)(sum[i] - c->timed[i]) : 0;
		all += n[i];
	}
	memcpy(c->timed_ns, sum_ns, sizeof(sum_ns));
	memcpy(c->timed, sum, sizeof(sum));
	took = clock > c->clock_ns ? 3 * (double)(clock - c->clock_ns) : 0;
	c->clock_ns = clock;
	return all > 0 ? took / all : 0;
}

/* Of one run; false: it is not known. */
static bool price_of(const struct conns_cost *c, int use, double gap_ns, double *ns)
{
	const struct price *price = &c->price[use];
	double prior = price->known ? PRIOR : 0, n = prior + c->recent[use];

	if (n <= 0)
		return false;
	*ns = c->recent_ns[use];
	if (price->known)
		*ns = *ns * price_at(&c->whole[use], gap_ns) + prior * price_at(price, gap_ns);
	*ns /= n;
	return true;
}

uint32_t conns_cost_time_one_in(const struct conns_cost *c)
{
	double n = c->runs_lately / TIMED_AIM;

	return n <= 1 ? 1 : n >= TIME_MOST ? TIME_MOST : (uint32_t)n;
}

bool conns_cost_since(struct conns_cost *c, const struct bpf_object *object,
		      const struct conn_counts *counts, uint64_t *ns, bool *exact)
{
	double net[USE_MAX], n[USE_MAX], gap_ns[USE_MAX], measured = 0, estimate = 0, each;
	double timed_ns[USE_MAX], timed[USE_MAX], more;
	bool on = prog_stats_are_on(), known = true;

	gained(c, object, net);
	count_runs(c, counts, n, gap_ns);
	more = take_timed(c, counts, timed_ns, timed);
	c->runs_lately = 0;
	for (int i = 0; i < USE_MAX; i++) {
		measured += net[i];
		estimate += timed[i] * more;
		c->recent_ns[i] = KEEP * c->recent_ns[i] + timed_ns[i];
		c->recent[i] = KEEP * c->recent[i] + timed[i];
		if (n[i] < 1)
			continue;
		c->runs_lately += n[i];
		if (price_of(c, i, gap_ns[i], &each))
			estimate += n[i] * each;
		else
			known = false;
	}
	*exact = on && c->were_on;
	c->were_on = on;
	if (*exact)
		*ns = measured > 0 ? (uint64_t)measured : 0;
	else
		*ns = known ? (uint64_t)estimate : 0;
	return *exact || known;
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

/*
 * A connection of its own, so that the rare programs run as well. `whole`: of each use a run by
 * what is timed of it; 0: not known.
 */
static bool run_batch(struct conns_cost *c, const struct bpf_object *object,
		      const struct conn_counts *counts, int pace,
		      struct price_sample sample[USE_MAX], double whole[USE_MAX])
{
	double net[USE_MAX], n[USE_MAX], gap_ns[USE_MAX];
	double timed_ns[USE_MAX], timed[USE_MAX], more;
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
	gained(c, object, net);
	count_runs(c, counts, n, gap_ns);
	more = take_timed(c, counts, timed_ns, timed);
	for (int i = 0; i < USE_MAX; i++) {
		net[i] -= more * timed[i];
		whole[i] = timed_ns[i] > 0 && n[i] > 0 ?
			   net[i] / n[i] / (timed_ns[i] / timed[i]) : 0;
		sample[i] = (struct price_sample){
			/* So little that the floor's error is more: it is something. */
			.ns = net[i] > n[i] ? net[i] : n[i], .n = n[i],
			.gaps_ns = n[i] * gap_ns[i],
		};
	}
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

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of those that are known; less than 1 is an error of measurement. */
static double median(double *values, size_t n)
{
	size_t unknown = 0;

	qsort(values, n, sizeof(*values), by_size);
	while (unknown < n && values[unknown] <= 0)
		unknown++;
	return unknown == n ? 1 : fmax(values[unknown + (n - unknown) / 2], 1);
}

/* By the same gaps as the price. */
static struct price whole_of(const struct price *price, double (*whole)[PRICE_BATCHES], bool flat)
{
	struct price it = *price;

	for (int i = 0; i < PRICE_POINTS; i++)
		it.at[i].ns = flat ? median(whole[0], (size_t)PRICE_POINTS * PRICE_BATCHES) :
				     median(whole[i], PRICE_BATCHES);
	return it;
}

void conns_calibrate(struct conns_cost *c, const struct bpf_object *object,
		     const struct conn_counts *counts, volatile uint32_t *time_one_in)
{
	double whole[USE_MAX][PRICE_POINTS][PRICE_BATCHES] = { 0 };
	struct price_sample samples[USE_MAX][PRICE_POINTS][PRICE_BATCHES] = { 0 };
	int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
	bool done = statistics >= 0;

	c->floor_ns = done ? price_floor() : 0;
	*time_one_in = 1;
	for (int i = -1; i < PRICE_POINTS * PRICE_BATCHES && done; i++) { /* -1: to warm up */
		struct price_sample of[USE_MAX];
		double by[USE_MAX];

		done = run_batch(c, object, counts, i < 0 ? 0 : i / PRICE_BATCHES, of, by);
		for (int u = 0; u < USE_MAX && i >= 0; u++) {
			samples[u][i / PRICE_BATCHES][i % PRICE_BATCHES] = of[u];
			whole[u][i / PRICE_BATCHES][i % PRICE_BATCHES] = by[u];
		}
	}
	*time_one_in = TIME_MOST;
	if (statistics >= 0)
		close(statistics);
	for (int u = 0; u < USE_MAX && done; u++) {
		if (u <= USE_RTT)
			price_draw(&c->price[u], samples[u]);
		else
			flat(&c->price[u], samples[u]);
		c->whole[u] = whole_of(&c->price[u], whole[u], u > USE_RTT);
	}
}
