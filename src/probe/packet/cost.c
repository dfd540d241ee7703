/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overhead of the probe's programs: the kernel's BPF statistics where an administrator has them on
 * (kernel.bpf_stats_enabled), else an estimate.
 *
 * hostlat does not switch the statistics on while it measures: that rewrites the kernel's code,
 * interrupting every CPU, and they then cost as much as the programs. The estimate counts the
 * events that make programs run (context switches, packets received, packets measured) and
 * multiplies each by its cost per run, which calibrate.c measures in the self-test (cost_model.h).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "host/root.h"
#include "probe/common/prog_stats.h"
#include "probe/cpu/activity.h"
#include "probe/packet/cost.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/messages.h"
#include "probe/packet/pkt_internal.h"

#define SOFTNET_MAX (16UL << 20)

/* ---- the kernel's statistics ---- */

void pkt_cost_read_stats(const struct pkt_probe *probe, struct cost_run_stats *stats)
{
	*stats = (struct cost_run_stats){};
	for (uint32_t i = 0; i < probe->n_attached; i++) {
		const struct attachment *a = &probe->attached[i];

		prog_stats_add(a->program, &stats->run_ns[a->cost], &stats->runs[a->cost]);
	}
}

/* Returns true and the programs' CPU time if statistics were on at the interval's begin and end. */
static bool cost_from_stats(struct pkt_probe *probe, uint64_t *ns)
{
	struct cost *c = probe->cost;
	struct cost_run_stats now;
	bool were_on = c->stats_were_on;
	double sum = 0;

	c->stats_were_on = prog_stats_are_on();
	if (!were_on && !c->stats_were_on)
		return false;
	pkt_cost_read_stats(probe, &now);
	if (probe->config.activity || probe->marks) {
		uint64_t run_ns = 0, runs = 0;

		if (probe->config.activity)
			activity_cost(probe->config.activity, &run_ns, &runs);
		pkt_marks_cost(probe, &run_ns, &runs);
		sum += run_ns - c->beside_ns - c->floor_ns * (runs - c->beside_runs);
		c->beside_ns = run_ns;
		c->beside_runs = runs;
	}
	for (int i = 0; i < COST_CLASSES; i++)
		sum += now.run_ns[i] - c->stats_before.run_ns[i] -
		       c->floor_ns * (now.runs[i] - c->stats_before.runs[i]);
	c->stats_before = now;
	*ns = sum > 0 ? (uint64_t)sum : 0;
	return were_on && c->stats_were_on;
}

/* ---- counts of events ---- */

/*
 * Number of events of all CPUs, and the sum of the squares of each CPU's number. n^2 / squares is
 * the effective number of CPUs with events.
 */
struct cost_events {
	double n, squares;
};

static void cost_events_add(struct cost_events *s, uint32_t now, uint64_t *before)
{
	double n = (uint32_t)(now - (uint32_t)*before); /* modulo 2^32, as counters have 32 bits */

	*before = now;
	s->n += n;
	s->squares += n * n;
}

static double cost_events_cpus(const struct cost_events *s)
{
	return s->squares > 0 ? s->n * s->n / s->squares : 1;
}

static void cost_count_switches(struct pkt_probe *probe, struct cost_events *s)
{
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		cost_events_add(s, pkt_cpu(probe, cpu)->switches,
				&probe->cost->switches_before[cpu]);
}

static void cost_count_departures(struct pkt_probe *probe, struct cost_events *s)
{
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		cost_events_add(s, pkt_cpu(probe, cpu)->departures,
				&probe->cost->departures_before[cpu]);
}

/* Reads the received packets of each online CPU: column 1, in hex (net/core/net-procfs.c). */
static bool cost_count_packets(struct pkt_probe *probe, struct cost_events *s)
{
	char *text, *rest, *line;
	uint32_t cpu = 0;
	int err = host_read_all(&text, SOFTNET_MAX, "%s/self/net/softnet_stat",
				host_root_live.proc);

	if (err < 0)
		return false;
	for (rest = text; cpu < probe->ncpus && (line = host_next_line(&rest)); cpu++)
		cost_events_add(s, strtoul(line, NULL, 16), &probe->cost->packets_before[cpu]);
	free(text);
	return cpu;
}

bool pkt_is_filtered(const struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;

	return c->pid || c->port || c->netns || c->ifname || c->cgroup ||
	       c->min_queue;
}

static bool cost_is_of_departure(enum cost_class class)
{
	return class == COST_DEPARTURE || class == COST_DEPARTURE_PASSED;
}

bool pkt_cost_count_use(struct pkt_probe *probe, struct cost_use *use)
{
	uint64_t now = clock_now();
	double elapsed = now - probe->cost->since_ns, rest, measured;
	struct cost_events switches = {}, packets = {}, departures = {};
	/* without a selected stage of received packets, no program sees arrivals */
	bool receives = probe->config.stages & INGRESS_STAGES;

	*use = (struct cost_use){};
	probe->cost->since_ns = now;
	cost_count_switches(probe, &switches);
	cost_count_departures(probe, &departures);
	if (!cost_count_packets(probe, &packets))
		return false;
	use->n[COST_TASKS] = switches.n;
	measured = probe->one_in ? 1.0 / probe->one_in : 0;
	use->n[COST_ARRIVAL] = receives ? packets.n * measured : 0;
	use->n[COST_ARRIVAL_PASSED] = receives ? packets.n * (1 - measured) : 0;
	use->n[COST_DEPARTURE] = departures.n * measured;
	use->n[COST_DEPARTURE_PASSED] = departures.n * (1 - measured);
	for (int p = 0; p < ROW_PROTOS; p++) {
		use->n[COST_TCP + p] = probe->seen[p] - probe->cost->seen_before[p];
		probe->cost->seen_before[p] = probe->seen[p];
	}
	rest = packets.n - use->n[COST_TCP] - use->n[COST_UDP];
	use->n[COST_PASSED] = receives && rest > 0 &&
			      (pkt_is_filtered(probe) || pkt_samples(probe)) ? rest : 0;
	for (int i = 0; i < COST_CLASSES; i++)
		use->gap_ns[i] = elapsed *
				 cost_events_cpus(i == COST_TASKS	    ? &switches
						  : cost_is_of_departure(i) ? &departures
									    : &packets) /
				 (use->n[i] > 1 ? use->n[i] : 1);
	return true;
}

/* ---- the estimate ---- */

static bool cost_from_model(struct pkt_probe *probe, uint64_t *ns)
{
	struct cost *c = probe->cost;
	struct cost_use use;
	double sum = 0;

	if (probe->config.probe) {
		snprintf(c->why, sizeof(c->why), "the overhead of --probe is known only with "
			 "kernel.bpf_stats_enabled=1");
		pkt_cost_count_use(probe, &use);
		return false;
	}
	if (pkt_stages_selected(probe, ARRIVAL_STAGES)) {
		snprintf(c->why, sizeof(c->why), "the overhead of `irq` and `poll` is known only "
			 "with kernel.bpf_stats_enabled=1");
		pkt_cost_count_use(probe, &use);
		return false;
	}
	if (!pkt_cost_count_use(probe, &use)) {
		snprintf(c->why, sizeof(c->why), "/proc/self/net/softnet_stat cannot be read");
		return false;
	}
	for (int i = 0; i < COST_CLASSES; i++) {
		if (!use.n[i])
			continue;
		if (!c->curve[i].known)
			return false;
		sum += use.n[i] * cost_curve_at(&c->curve[i], use.gap_ns[i]);
	}
	*ns = (uint64_t)sum;
	return true;
}

bool pkt_cost_bpf_ns(struct pkt_probe *probe, uint64_t *ns, bool *exact)
{
	uint64_t estimate = 0;
	/*
	 * The model is called even if its estimate is not used, as it counts the events since its
	 * last call.
	 */
	bool known = cost_from_model(probe, &estimate);

	*exact = cost_from_stats(probe, ns);
	if ((probe->config.activity || probe->marks) && !*exact) {
		snprintf(probe->cost->why, sizeof(probe->cost->why), "there is no estimate for the "
			 "programs of %s: kernel.bpf_stats_enabled=1 measures them",
			 probe->config.activity ? "CPU activity" : "marks");
		known = false;
	}
	if (!*exact)
		*ns = known ? estimate : 0;
	return *exact || known;
}

bool pkt_cost_known(const struct pkt_probe *probe)
{
	static const struct {
		uint32_t stages;
		enum cost_class class;
	} needs[] = {
		{ 1U << STAGE_RUNNABLE | 1U << STAGE_RUNNING, COST_TASKS },
		{ INGRESS_STAGES, COST_ARRIVAL },
		{ INGRESS_STAGES, COST_ARRIVAL_PASSED }, { INGRESS_STAGES, COST_PASSED },
		{ INGRESS_STAGES, COST_TCP }, { INGRESS_STAGES, COST_UDP },
		{ EGRESS_STAGES, COST_DEPARTURE }, { EGRESS_STAGES, COST_DEPARTURE_PASSED },
	};

	if (prog_stats_are_on())
		return true;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (pkt_stages_selected(probe, needs[i].stages) &&
		    !probe->cost->curve[needs[i].class].known)
			return false;
	return true;
}

int pkt_cost_open(struct pkt_probe *probe)
{
	struct cost *c = calloc(1, sizeof(*c));

	probe->cost = c;
	if (!c)
		return -ENOMEM;
	c->switches_before = calloc(probe->ncpus, sizeof(*c->switches_before));
	c->packets_before = calloc(probe->ncpus, sizeof(*c->packets_before));
	c->departures_before = calloc(probe->ncpus, sizeof(*c->departures_before));
	return c->switches_before && c->packets_before && c->departures_before ? 0 : -ENOMEM;
}

void pkt_cost_free(struct pkt_probe *probe)
{
	if (!probe->cost)
		return;
	free(probe->cost->switches_before);
	free(probe->cost->packets_before);
	free(probe->cost->departures_before);
	free(probe->cost);
}
