/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what an event of CPU activity takes in a recording, in ns: the bodies of the programs,
 * 256 times in a row, the empty loop and all of them in turns; net of the empty loop. The caches
 * are warm: what they take among other work, bench/recording says. Exits with 1 beyond the limit.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/activity.h"
#include "bpf/abi_record.h"
#include "bench/activity.skel.h"

#define RUNS 2000
#define LIMIT_NS 60.0

static const char *const names[CHAINS] = {
	"", "softirq", "interrupt", "idle", "system call", "waking", "switch",
};

static double samples[CHAINS][RUNS];

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(uint32_t chain)
{
	qsort(samples[chain], RUNS, sizeof(samples[chain][0]), by_value);
	return samples[chain][RUNS / 2];
}

static int load(struct activity_bpf **out)
{
	const int cpus = libbpf_num_possible_cpus();
	struct activity_bpf *skel = activity_bpf__open();
	struct bpf_program *program;
	int err;

	*out = skel;
	if (!skel || cpus < 0)
		return skel ? cpus : -errno;
	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, program == skel->progs.bench_activity);
	skel->rodata->bench_pid = (uint32_t)getpid();
	skel->bss->spent = 1;
	err = bpf_map__set_max_entries(skel->maps.rings, (uint32_t)cpus);
	if (!err)
		err = activity_bpf__load(skel);
	return err ? err : activity_bpf__attach(skel);
}

static void run(struct activity_bpf *skel)
{
	for (uint32_t i = 0; i < RUNS; i++) {
		for (uint32_t chain = 0; chain < CHAINS; chain++) {
			skel->bss->chain = chain;
			__atomic_store_n(&skel->bss->spent, 0, __ATOMIC_SEQ_CST);
			getppid(); /* its end is where they run */
			samples[chain][i] =
				(double)__atomic_load_n(&skel->bss->spent, __ATOMIC_SEQ_CST) /
				BENCH_LOOP;
		}
	}
}

int main(void)
{
	struct activity_bpf *skel;
	int err = load(&skel), failed = 0;
	double empty;

	if (err) {
		fprintf(stderr, "activity: %s\n", strerror(-err));
		activity_bpf__destroy(skel);
		return 2;
	}
	run(skel);
	activity_bpf__destroy(skel);
	empty = median(CHAIN_EMPTY);
	printf("| event | ns | limit |\n|---|--:|--:|\n");
	for (uint32_t chain = CHAIN_EMPTY + 1; chain < CHAINS; chain++) {
		const double net = median(chain) - empty;

		printf("| %s | %.1f | %.0f |\n", names[chain], net, LIMIT_NS);
		failed |= net > LIMIT_NS;
	}
	return failed;
}
