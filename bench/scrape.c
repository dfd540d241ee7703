/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what a snapshot costs: CPU time per touched row (a group and stage, with its step),
 * beyond that of a snapshot of which nothing was touched; and whether the maps stay within
 * --memory, by what the kernel says that they take. Exit code 1 when a limit is missed.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/packet/pkt_internal.h"
#include "probe/packet/pkt_probe.h"
#include "bpf/watch.skel.h" /* needs bpf/abi.h */

#define SNAPSHOTS 400
#define BUCKETS_TOUCHED 40 /* in each row and each step */
#define LIMIT_NS 3000.0

static uint64_t events;

static int count_event(struct event_sink *sink, const struct event *event,
		       const struct iovec *payload, int pieces)
{
	(void)sink;
	(void)event;
	(void)payload;
	(void)pieces;
	events++;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) -
	       (*(const uint64_t *)a < *(const uint64_t *)b);
}

/* As the programs would: on every CPU, a packet in each of some neighbouring buckets. */
static void touch(struct pkt_probe *probe, uint32_t rows)
{
	for (uint32_t id = 0; id < rows; id++) {
		for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++) {
			struct stage_row *r = &pkt_cpu(probe, cpu)->row[0][0][0] + id;

			r->latency.min = r->step.min = 1;
			for (int i = 80; i < 80 + BUCKETS_TOUCHED; i++) {
				r->latency.bucket[i]++;
				r->step.bucket[i]++;
			}
		}
	}
}

static int snapshots(struct pkt_probe *probe, struct event_dict *dict, uint32_t rows, double *ns)
{
	static uint64_t spent[SNAPSHOTS];
	struct event_sink sink = { count_event };

	for (int i = 0; i < SNAPSHOTS; i++) {
		uint64_t start;
		int err;

		touch(probe, rows);
		start = cpu_ns();
		err = pkt_probe_snapshot(probe, &sink, dict, 0);
		if (err)
			return err;
		spent[i] = cpu_ns() - start;
	}
	qsort(spent, SNAPSHOTS, sizeof(spent[0]), by_value);
	*ns = spent[SNAPSHOTS / 2];
	return 0;
}

/* Returns the bytes that the kernel charges for a map. */
static uint64_t map_bytes(const struct bpf_map *map)
{
	unsigned long long bytes = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %llu", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

static bool memory(uint64_t limit)
{
	struct pkt_probe_config config = { .stages = ~0U, .memory = limit };
	struct pkt_probe *probe;
	const struct bpf_map *map;
	uint64_t bytes = 0;
	char why[256];
	int err = pkt_probe_open(&probe, &config, why, sizeof(why));

	if (err) {
		printf("--memory %3llu MiB: %s\n", (unsigned long long)limit >> 20, why);
		return err == -ENOMEM;
	}
	bpf_object__for_each_map(map, probe->obj)
		bytes += map_bytes(map);
	printf("--memory %3llu MiB: maps take %.2f MiB, by our own account %.2f: %s\n",
	       (unsigned long long)limit >> 20, bytes / 1048576.0,
	       pkt_probe_memory(probe) / 1048576.0, bytes <= limit ? "ok" : "OVER");
	pkt_probe_free(probe);
	return bytes <= limit;
}

int main(void)
{
	static const uint64_t sizes[] = { 64 << 20, 8 << 20, 3 << 20 };
	struct pkt_probe_config config = { .stages = ~0U, .memory = PKT_MEMORY_DEFAULT };
	struct event_dict *dict = event_dict_new();
	struct pkt_probe *probe = NULL;
	double none = 0, all = 0, per_row;
	char why[256] = "";
	int err, missed;

	if (geteuid()) {
		puts("SKIP: needs root");
		return 77;
	}
	err = dict ? pkt_probe_open(&probe, &config, why, sizeof(why)) : -ENOMEM;
	err = err ? err : snapshots(probe, dict, 0, &none);
	err = err ? err : snapshots(probe, dict, ROWS, &all);
	if (err) {
		fprintf(stderr, "scrape: %s\n", why[0] ? why : strerror(-err));
		return 2;
	}
	per_row = (all - none) / ROWS;
	printf("a snapshot of which nothing was touched: %.1f us CPU\n", none / 1000);
	printf("with %u rows touched on %u CPUs: %.1f us, so %.2f us a row: limit %.0f us: %s\n",
	       (unsigned int)ROWS, probe->ncpus, all / 1000, per_row / 1000, LIMIT_NS / 1000,
	       per_row <= LIMIT_NS ? "ok" : "MISSED");
	pkt_probe_free(probe);
	event_dict_free(dict);
	missed = per_row > LIMIT_NS;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		missed += !memory(sizes[i]);
	return missed ? 1 : 0;
}
