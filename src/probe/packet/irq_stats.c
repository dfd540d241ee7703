/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages before the network stack: puts the counts of the programs of bpf/arrival.bpf.h, and
 * /proc/net/softnet_stat, as events. As in struct cpu_state, counts only grow; minimum and maximum
 * are those of the interval.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/root.h"
#include "probe/packet/deltas.h"
#include "probe/packet/hook_select.h"
#include "bpf/watch.skel.h"

#define SOFTNET_MAX (16UL << 20)

/* Columns of a CPU's line in /proc/net/softnet_stat (net/core/net-procfs.c). */
enum softnet_column {
	SOFTNET_PROCESSED, SOFTNET_DROPPED, SOFTNET_SQUEEZED,
	SOFTNET_RPS = 9, SOFTNET_FLOW_LIMIT = 10, SOFTNET_CPU = 12, SOFTNET_COLUMNS,
};

struct softnet {
	bool known;
	uint32_t column[SOFTNET_COLUMNS];
};

struct pkt_irq_stats {
	struct arrival_cpu *cpus; /* mapped BPF map, one entry per CPU */
	struct stage_row before[ARRIVAL_SLOTS];
	struct arrival_queue (*queues_before)[ARRIVAL_PLACES];
	struct softnet *softnet_before;
	uint64_t displaced_before, negative_before;
};

/* ---- maps ---- */

static size_t irq_stats_map_bytes(const struct pkt_probe *probe)
{
	return probe->ncpus * sizeof(struct arrival_cpu);
}

uint64_t pkt_irq_stats_memory(const struct pkt_probe *probe)
{
	uint64_t bytes = 0;

	if (pkt_stages_selected(probe, ARRIVAL_STAGES))
		bytes += irq_stats_map_bytes(probe);
	if (pkt_gro_selected(probe))
		bytes += ARRIVAL_SETS * sizeof(struct arrival_set);
	return bytes;
}

int pkt_irq_stats_set_size(struct pkt_probe *probe)
{
	struct watch_bpf *skel = probe->skel;

	if (bpf_map__set_max_entries(skel->maps.arrivals, pkt_stages_selected(probe, ARRIVAL_STAGES)
								  ? probe->ncpus
								  : 1) ||
	    bpf_map__set_max_entries(skel->maps.arrival_sets,
				     pkt_gro_selected(probe) ? ARRIVAL_SETS : 1))
		return -EINVAL;
	return 0;
}

int pkt_irq_stats_open(struct pkt_probe *probe)
{
	struct pkt_irq_stats *a;
	void *p;

	if (!pkt_stages_selected(probe, ARRIVAL_STAGES))
		return 0;
	a = probe->irq_stats = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->queues_before = calloc(probe->ncpus, sizeof(*a->queues_before));
	a->softnet_before = calloc(probe->ncpus, sizeof(*a->softnet_before));
	if (!a->queues_before || !a->softnet_before)
		return -ENOMEM;
	p = mmap(NULL, irq_stats_map_bytes(probe), PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(probe->skel->maps.arrivals), 0);
	if (p == MAP_FAILED)
		return -errno;
	a->cpus = p;
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		for (int slot = 0; slot < ARRIVAL_SLOTS; slot++) {
			struct stage_row *r = &a->cpus[cpu].row[slot];

			r->latency.min = r->step.min = UINT64_MAX;
		}
	return 0;
}

void pkt_irq_stats_close(struct pkt_probe *probe)
{
	struct pkt_irq_stats *a = probe->irq_stats;

	if (!a)
		return;
	if (a->cpus)
		munmap(a->cpus, irq_stats_map_bytes(probe));
	free(a->queues_before);
	free(a->softnet_before);
	free(a);
	probe->irq_stats = NULL;
}

/* ---- rows ---- */

static void irq_stats_put_row(struct delta_out *o, uint32_t slot)
{
	struct pkt_irq_stats *a = o->probe->irq_stats;
	struct stage_row now = { .latency.min = UINT64_MAX, .step.min = UINT64_MAX };

	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		deltas_merge(&a->cpus[cpu].row[slot].latency, &now.latency);
		deltas_merge(&a->cpus[cpu].row[slot].step, &now.step);
	}
	deltas_row(o, ARRIVAL_ROW(slot), 0, o->probe->config.by ? HIST_OVERFLOW_GROUP : 0, &now,
		   &a->before[slot]);
	a->before[slot] = now;
}

/* ---- counters ---- */

static void irq_stats_put(struct delta_out *o, uint16_t kind, const void *payload, size_t size)
{
	int err = event_put(o->sink, kind, o->now, payload, size);

	if (!o->err)
		o->err = err;
}

static void irq_stats_put_loss(struct delta_out *o, const char *reason, uint64_t now,
			       uint64_t *before)
{
	struct event_count e = {
		.what = COUNT_LOSS, .stage = STAGE_LINK, .direction = DIR_INGRESS,
		.count = now - *before,
	};

	*before = now;
	if (!o->sink || !e.count)
		return;
	e.reason = event_dict_intern(o->dict, DICT_STRING, reason, o->sink, o->now);
	irq_stats_put(o, EV_COUNT, &e, sizeof(e));
}

static void irq_stats_put_losses(struct delta_out *o)
{
	struct pkt_irq_stats *a = o->probe->irq_stats;
	uint64_t displaced = 0, negative = 0;

	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++) {
		displaced += a->cpus[cpu].displaced;
		negative += a->cpus[cpu].negative;
	}
	irq_stats_put_loss(o, pkt_loss_names[LOSS_DISPLACED], displaced, &a->displaced_before);
	irq_stats_put_loss(o, pkt_loss_names[LOSS_NEGATIVE], negative, &a->negative_before);
}

static void irq_stats_put_queue(struct delta_out *o, uint32_t cpu, int place,
				const struct arrival_queue *q, struct arrival_queue *before)
{
	struct event_queue e = {
		.cpu = cpu, .rxq = q->rxq,
		.of = place == ARRIVAL_OF_BACKLOG ? QUEUE_OF_BACKLOG :
		      place == ARRIVAL_OF_OTHERS ? QUEUE_OF_OTHERS : QUEUE_OF_DEVICE,
		.polls = q->polls - before->polls, .work = q->work - before->work,
		.full = q->full - before->full, .received = q->received - before->received,
		.merged = q->merged - before->merged, .passed = q->passed - before->passed,
	};

	*before = *q;
	if (!o->sink || !(e.polls | e.received | e.merged | e.passed))
		return;
	if (q->ifindex)
		e.iface = label_iface_id(o, q->netns, q->ifindex);
	irq_stats_put(o, EV_QUEUE, &e, sizeof(e));
}

static void irq_stats_put_queues(struct delta_out *o)
{
	struct pkt_irq_stats *a = o->probe->irq_stats;

	for (uint32_t cpu = 0; cpu < o->probe->ncpus; cpu++)
		for (int i = 0; i < ARRIVAL_PLACES; i++) {
			const struct arrival_queue q = a->cpus[cpu].queue[i];

			irq_stats_put_queue(o, cpu, i, &q, &a->queues_before[cpu][i]);
		}
}

/* ---- softnet_stat ---- */

static bool irq_stats_parse_softnet(const char *line, struct softnet *s)
{
	for (int i = 0; i < SOFTNET_COLUMNS; i++) {
		char *end;

		s->column[i] = strtoul(line, &end, 16);
		if (end == line)
			/* a column is missing: this kernel does not print the CPU's number */
			return false;
		line = end;
	}
	return s->known = true;
}

/* Puts a CPU's growth since the last snapshot, modulo 2^32: the kernel's counters have 32 bits. */
static void irq_stats_put_softnet(struct delta_out *o, const struct softnet *now,
				  struct softnet *before)
{
	uint32_t gain[SOFTNET_COLUMNS];
	struct event_softnet e = { .cpu = now->column[SOFTNET_CPU] };
	bool known = before->known;

	for (int i = 0; i < SOFTNET_COLUMNS; i++)
		gain[i] = now->column[i] - before->column[i];
	*before = *now;
	e.processed = gain[SOFTNET_PROCESSED];
	e.dropped = gain[SOFTNET_DROPPED];
	e.squeezed = gain[SOFTNET_SQUEEZED];
	e.rps = gain[SOFTNET_RPS];
	e.flow_limit = gain[SOFTNET_FLOW_LIMIT];
	if (o->sink && known)
		irq_stats_put(o, EV_SOFTNET, &e, sizeof(e));
}

static void irq_stats_put_all_softnet(struct delta_out *o)
{
	struct pkt_irq_stats *a = o->probe->irq_stats;
	char *text, *rest, *line;
	int err = host_read_all(&text, SOFTNET_MAX, "%s/self/net/softnet_stat",
				host_root_live.proc);

	if (err < 0)
		return;
	for (rest = text; (line = host_next_line(&rest));) {
		struct softnet now = {};

		if (irq_stats_parse_softnet(line, &now) &&
		    now.column[SOFTNET_CPU] < o->probe->ncpus)
			irq_stats_put_softnet(o, &now, &a->softnet_before[now.column[SOFTNET_CPU]]);
	}
	free(text);
}

void pkt_irq_stats_put(struct delta_out *o)
{
	if (!o->probe->irq_stats)
		return;
	for (uint32_t slot = 0; slot < ARRIVAL_SLOTS; slot++)
		irq_stats_put_row(o, slot);
	irq_stats_put_losses(o);
	irq_stats_put_queues(o);
	irq_stats_put_all_softnet(o);
}
