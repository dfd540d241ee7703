/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The kernel's side of test_buckets: indices of a batch of values, and a histogram per CPU. */
#include "bpf/kernel/types.h"
#include <bpf/bpf_helpers.h>
#include "stats/buckets.h"

#define BATCH 4096 /* as in test_buckets.c */
#define CPUS 64

const volatile int schema; /* a constant to the verifier, which so knows the table's bounds */
__u32 n;
__u64 steps[BUCKET_STEPS_MAX];
__u64 values[BATCH];
__u32 indices[BATCH];         /* bucket_index_any() */
__u32 default_indices[BATCH]; /* bucket_index() */
__u64 counts[CPUS][BUCKET_COUNT_DEFAULT];

static long index_one(__u32 i, void *unused)
{
	__u32 at = i & (BATCH - 1), cpu = bpf_get_smp_processor_id() & (CPUS - 1), index;

	indices[at] = bucket_index_any(values[at], schema, steps);
	index = bucket_index(values[at]);
	default_indices[at] = index;
	if (index < BUCKET_COUNT_DEFAULT)
		counts[cpu][index]++;
	return 0;
}

SEC("raw_tp/sys_enter")
int index_batch(void *ctx)
{
	return bpf_loop(n, index_one, NULL, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
