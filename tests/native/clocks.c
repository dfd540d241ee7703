/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks read SECONDS: a line per moment, "DOMAIN TICKS MONO BOUND": the clock's reading lay within
 * BOUND ns of that monotonic time.
 *
 * clocks check FILE OFF_NS < LINES: converts each by a recording's parameters, OFF_NS more than was
 * read. Prints "DOMAIN known unknown wrong worst_bound_ns" per domain. Exit code 2: no such file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "clock/clock.h"
#include "clock/pairs.h"
#include "clock/tsc.h"
#include "event/clocks.h"
#include "event/reader.h"
#include "probe/cpu/timekeeping_sched.h"

#define EVERY_NS 1000000

static int read_clock(void *ctx, uint64_t *ticks)
{
	const enum clock_domain domain = *(const enum clock_domain *)ctx;
	int64_t ns;
	int err;

	if (domain == DOMAIN_TSC) {
		*ticks = clock_tsc();
		return CLOCK_HAS_TSC ? 0 : -EOPNOTSUPP;
	}
	err = clock_read(clock_system(), domain, &ns);
	*ticks = (uint64_t)ns;
	return err;
}

static void print_pair(enum clock_domain domain, const struct clock_pair *pair)
{
	printf("%d %" PRIu64 " %" PRId64 " %" PRIu64 "\n", (int)domain, pair->other, pair->mono_ns,
	       pair->error_ns);
}

static void read_for(int64_t ns)
{
	static enum clock_domain domains[] = { DOMAIN_TSC, DOMAIN_REALTIME, DOMAIN_TAI };
	const int64_t end = clock_mono_ns(clock_system()) + ns;
	struct sched_reader sched;
	struct clock_pair pair;
	const bool has_sched = !sched_reader_open(&sched);

	while (clock_mono_ns(clock_system()) < end) {
		for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
			if (!clock_pair_read(read_clock, &domains[i], &pair))
				print_pair(domains[i], &pair);
		}
		if (has_sched && !clock_pair_read(sched_reader_read, &sched, &pair))
			print_pair(DOMAIN_SCHED, &pair);
		clock_sleep_until(clock_system(), clock_mono_ns(clock_system()) + EVERY_NS);
	}
	sched_reader_close(&sched);
}

static int load(const char *file, struct event_clocks *clocks)
{
	struct event_reader *reader;
	struct event_block block;
	struct event event;
	int err = event_reader_open(&reader, file);

	while (!err && event_source_next(event_reader_source(reader), &block) > 0) {
		size_t at = 0;

		while (!block.record_size && !err && event_block_next(&block, &at, &event)) {
			if (event.kind == EV_FACT) {
				const char *key, *value;

				event_fact_get(&event, &key, &value);
				if (!strcmp(key, "clock-conversion"))
					printf("way %s\n", value);
			}
			err = event_clocks_add(clocks, &event);
		}
	}
	return err;
}

static int check(const char *file, int64_t off_ns)
{
	struct { uint64_t known, unknown, wrong, worst; } tally[DOMAIN_COUNT] = { 0 };
	static const char *const names[] = {
		[DOMAIN_REALTIME] = "realtime", [DOMAIN_TAI] = "tai", [DOMAIN_TSC] = "tsc",
		[DOMAIN_SCHED] = "sched-clock",
	};
	struct event_clocks clocks;
	uint64_t ticks, bound;
	int64_t mono;
	int domain;

	event_clocks_init(&clocks, UINT32_MAX);
	if (load(file, &clocks))
		return 2;
	while (scanf("%d %" SCNu64 " %" SCNd64 " %" SCNu64, &domain, &ticks, &mono, &bound) == 4) {
		struct clock_time t;

		if (domain <= DOMAIN_MONO || domain >= DOMAIN_COUNT)
			return 2;
		if (clock_reconcile_convert(&clocks.reconcile, domain, DOMAIN_MONO, (int64_t)ticks,
					    &t)) {
			tally[domain].unknown++;
			continue;
		}
		tally[domain].known++;
		tally[domain].wrong += (uint64_t)llabs(t.value + off_ns - mono) >
				       bound + t.error_ns;
		if (t.error_ns > tally[domain].worst)
			tally[domain].worst = t.error_ns;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (tally[i].known + tally[i].unknown)
			printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       names[i], tally[i].known, tally[i].unknown,
			       tally[i].wrong, tally[i].worst);
	}
	printf("params missing %" PRIu64 " refused %" PRIu64 "\n", clocks.missing, clocks.refused);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "read"))
		read_for(strtoll(argv[2], NULL, 10) * 1000000000);
	else if (argc == 4 && !strcmp(argv[1], "check"))
		return check(argv[2], strtoll(argv[3], NULL, 10));
	else
		return 1;
	return 0;
}
