/* SPDX-License-Identifier: Apache-2.0 */
#include "host/pressure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

#define SOFTNET_MAX (16UL << 20)

/* fs/proc/stat.c: columns of the first line; `user` and `nice` include guest time. */
enum { STAT_USER, STAT_NICE, STAT_SYSTEM, STAT_IDLE, STAT_IOWAIT, STAT_IRQ, STAT_SOFTIRQ,
       STAT_STEAL, STAT_COLUMNS };

static void pressure_read_busy(const struct host_root *root, struct host_pressure *out)
{
	unsigned long long ticks[STAT_COLUMNS], busy = 0;
	long per_second = sysconf(_SC_CLK_TCK);
	char text[512];

	if (per_second <= 0 || host_read(text, sizeof(text), "%s/stat", root->proc) < 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
		   &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) !=
	    STAT_COLUMNS)
		return;
	for (int i = 0; i < STAT_COLUMNS; i++)
		busy += i == STAT_IDLE || i == STAT_IOWAIT ? 0 : ticks[i];
	out->busy_ns = busy * (NS_PER_S / (unsigned long)per_second);
	out->busy_known = true;
}

/* Reads PSI's "some avg10=0.00 avg60=0.00 avg300=0.00 total=USEC". */
static void pressure_read_stall(const struct host_root *root, struct host_pressure *out)
{
	unsigned long long us;
	char text[512];

	if (host_read(text, sizeof(text), "%s/pressure/cpu", root->proc) < 0 ||
	    sscanf(text, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &us) != 1)
		return;
	out->stall_ns = us * 1000;
	out->stall_known = true;
}

/* Sums the first column of softnet_stat, in hex: packets received by each online CPU, mod 2^32. */
static void pressure_read_packets(const struct host_root *root, struct host_pressure *out)
{
	char *text, *rest, *line, *end;

	if (host_read_all(&text, SOFTNET_MAX, "%s/self/net/softnet_stat", root->proc) < 0)
		return;
	for (rest = text; (line = host_next_line(&rest));) {
		uint32_t n = (uint32_t)strtoul(line, &end, 16);

		out->packets += n;
		out->packets_cpus += end != line;
	}
	free(text);
}

void host_pressure_read(const struct host_root *root, struct host_pressure *out)
{
	root = host_root_or_live(root);
	*out = (struct host_pressure){ 0 };
	pressure_read_busy(root, out);
	pressure_read_stall(root, out);
	pressure_read_packets(root, out);
}

static bool pressure_gained(bool known, uint64_t before, uint64_t now, uint64_t *gain)
{
	*gain = known && now >= before ? now - before : 0;
	return known && now >= before;
}

void host_pressure_since(const struct host_pressure *before, const struct host_pressure *now,
			 struct host_pressure *out)
{
	*out = (struct host_pressure){ 0 };
	out->busy_known = pressure_gained(before->busy_known && now->busy_known, before->busy_ns,
					  now->busy_ns, &out->busy_ns);
	out->stall_known = pressure_gained(before->stall_known && now->stall_known,
					   before->stall_ns, now->stall_ns, &out->stall_ns);
	if (before->packets_cpus && before->packets_cpus == now->packets_cpus) {
		out->packets = now->packets - before->packets;
		out->packets_cpus = now->packets_cpus;
	}
}
