/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_cost.h"

#include <bpf/libbpf.h>
#include <string.h>

#include "base/bug.h"
#include "probe/common/prog_stats.h"

/* weight that earlier timed runs of BPF programs keep at each update of the cost estimate */
#define REMEMBERED 0.8
/* a run that takes this many times as long as other runs was interrupted or lost its CPU */
#define STRANGE 8
/* number of clock readings per timed run */
#define READINGS 3.0
/*
 * Correction factor for timed runs of BPF programs: the part before the first clock reading, with
 * cold caches, is not timed. The kernel's statistics show 1.16 to 1.35 times as much
 * (tests/native/test_conns_budget.py).
 */
#define UNSEEN 1.2
/*
 * assumed ns per run of a kind of BPF program that was never timed; above all measurements with
 * cold caches
 */
#define ASSUMED_NS 1000.0

/* Returns the number of runs of a kind of programs since the last call. */
static double cost_count_runs(struct conns_cost *c, const struct conn_counts *counts, int use)
{
	double n = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		uint64_t now = counts[cpu].used[use], *then = &c->used[cpu][use];

		/* an interrupt may lose additions, so a counter can go back */
		n += now > *then ? (double)(now - *then) : 0;
		*then = now;
	}
	return n;
}

static double cost_of_run(const struct conns_cost *c, int use)
{
	return c->runs[use] > 0 ? c->ns[use] / c->runs[use] : 0;
}

/* Adds one CPU's timed runs; without the longest run, if that was interrupted. */
static void cost_add_cpu(struct conns_cost *c, struct conn_timed *now, struct conn_timed *then,
			 int use, double *ns, double *runs)
{
	const double most = (double)now->max_ns[use], price = cost_of_run(c, use);
	const double expected = price > 0 ? price : ASSUMED_NS;
	double n = (uint32_t)(now->runs[use] - then->runs[use]), sum;

	sum = now->ns[use] > then->ns[use] ? (double)(now->ns[use] - then->ns[use]) : 0;
	now->max_ns[use] = 0;
	then->ns[use] = now->ns[use];
	then->runs[use] = now->runs[use];
	if (n > 1 ? most * (n - 1) > STRANGE * (sum - most) : most > STRANGE * expected) {
		sum = sum > most ? sum - most : 0;
		n--;
	}
	if (n < 1)
		return;
	*ns += sum;
	*runs += n;
}

/* Returns the ns of one clock reading. Call it before cost_add_timed(), which advances c->timed. */
static double cost_of_clock(struct conns_cost *c, const struct conn_timed *timed)
{
	double ns = 0, runs = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		const struct conn_timed *now = &timed[cpu];
		struct conn_timed *then = &c->timed[cpu];

		ns += now->clock_ns > then->clock_ns ? (double)(now->clock_ns - then->clock_ns) : 0;
		then->clock_ns = now->clock_ns;
		for (int use = 0; use < USE_MAX; use++)
			runs += (uint32_t)(now->runs[use] - then->runs[use]);
	}
	if (runs > 0)
		c->clock_ns = ns / runs;
	return c->clock_ns;
}

static void cost_add_timed(struct conns_cost *c, struct conn_timed *timed, int use)
{
	double ns = 0, runs = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++)
		cost_add_cpu(c, &timed[cpu], &c->timed[cpu], use, &ns, &runs);
	if (!runs)
		return;
	c->ns[use] = c->ns[use] * REMEMBERED + ns;
	c->runs[use] = c->runs[use] * REMEMBERED + runs;
}

bool conns_cost_since(struct conns_cost *c, const struct conn_counts *counts,
		      struct conn_timed *timed, struct conns_push *push)
{
	const double timing = READINGS * cost_of_clock(c, timed) / CONN_TIMED_ONE_IN;
	bool known = true;
	double sum = 0;

	*push = (struct conns_push){ 0 };
	for (int use = 0; use < USE_MAX; use++) {
		double n = cost_count_runs(c, counts, use), ns;

		cost_add_timed(c, timed, use);
		known &= !n || c->runs[use] > 0;
		ns = n * (c->runs[use] > 0 ? UNSEEN * cost_of_run(c, use) + timing : ASSUMED_NS);
		sum += ns;
		if (use == USE_STATE)
			push->ends_ns = (uint64_t)ns;
	}
	push->ns = (uint64_t)sum;
	return known;
}

/* ---- the kernel's statistics ---- */

static enum conn_use cost_use_of(const char *program)
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
		enum conn_use use = cost_use_of(bpf_program__name(program));

		if (bpf_program__expected_attach_type(program) != BPF_TRACE_ITER &&
		    bpf_program__type(program) != BPF_PROG_TYPE_SYSCALL)
			prog_stats_add(program, &ns[use], &runs[use]);
	}
}
