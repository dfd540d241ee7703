/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel puts every value into the bucket that user space puts it into: all edges of all
 * schemas and the integers beside them. And histograms recorded on several CPUs merge into the
 * one that a single CPU would have recorded.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/hist_at.h"
#include "base/rng.h"
#include "buckets.skel.h"
#include "stats/bucket_edges.h"
#include "stats/hist.h"

#define BATCH 4096 /* as in buckets.bpf.c */
#define CPUS 64
#define SKIP 77

static struct buckets_bpf *skel;
static unsigned long failures, checked;

static void fail(const char *fmt, ...)
{
	va_list ap;

	if (failures++ > 10)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

/* The program for one schema, with its constants. */
static void load(int schema)
{
	buckets_bpf__destroy(skel);
	skel = buckets_bpf__open();
	if (skel)
		skel->rodata->schema = schema;
	if (skel && buckets_bpf__load(skel) == 0) {
		memcpy(skel->bss->steps, bucket_edges_steps(schema),
		       (2ull << (schema > 0 ? schema : 0)) * sizeof(__u64));
		return;
	}
	if (errno == EPERM || errno == EACCES) {
		printf("SKIP: loading BPF programs is not permitted\n");
		exit(SKIP);
	}
	printf("the program does not load: %s\n", strerror(errno));
	exit(1);
}

/* Runs the program over the first n values. */
static void kernel_indices(uint32_t n)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	skel->bss->n = n;
	err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.index_batch), &opts);
	if (err || opts.retval != n)
		fail("test run: error %d, %u of %u values\n", err, opts.retval, n);
}

static void compare(int schema, uint32_t n)
{
	kernel_indices(n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t value = skel->bss->values[i];
		uint32_t want = bucket_edges_index(schema, value), seen = skel->bss->indices[i];

		if (seen != want)
			fail("schema %d, %llu: kernel %u, user space %u\n", schema,
			     (unsigned long long)value, seen, want);
		want = bucket_edges_index(BUCKET_SCHEMA_DEFAULT, value);
		seen = skel->bss->default_indices[i];
		if (seen != want)
			fail("default schema, %llu: kernel %u, user space %u\n",
			     (unsigned long long)value, seen, want);
		checked++;
	}
}

static void test_edges(int schema)
{
	int32_t last = schema >= 0 ? 64 << schema : 64 >> -schema;
	uint32_t n = 0;

	load(schema);
	for (int32_t i = 0; i <= last; i++) {
		uint64_t edge = bucket_edges_floor(schema, i);

		for (int64_t beside = -1; beside <= 1; beside++) {
			uint64_t value = edge + beside;

			if (value && value - edge + 1 <= 2 && !(edge == UINT64_MAX && beside > 0))
				skel->bss->values[n++] = value;
			if (n == BATCH) {
				compare(schema, n);
				n = 0;
			}
		}
	}
	compare(schema, n);
}

/* The counts that the kernel made on these CPUs, as one histogram. */
static void merged(struct hist *hist)
{
	hist_init(hist, BUCKET_SCHEMA_DEFAULT);
	for (int cpu = 0; cpu < CPUS; cpu++) {
		struct hist one;

		hist_init(&one, BUCKET_SCHEMA_DEFAULT);
		for (int i = 0; i < BUCKET_COUNT_DEFAULT; i++)
			if (skel->bss->counts[cpu][i])
				hist_add_at(&one, i, skel->bss->counts[cpu][i]);
		hist_merge(hist, &one);
		hist_release(&one);
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("can't run on CPU %d: %s\n", cpu, strerror(errno));
}

static void test_merge(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN) < CPUS ? sysconf(_SC_NPROCESSORS_ONLN) : CPUS;
	struct hist several, single;
	struct rng rng;

	rng_init(&rng, 20250301);
	memset(skel->bss->counts, 0, sizeof(skel->bss->counts));
	hist_init(&single, BUCKET_SCHEMA_DEFAULT);
	for (int round = 0; round < 4 * cpus; round++) {
		pin(round % cpus);
		for (int i = 0; i < BATCH; i++) {
			skel->bss->values[i] = 1 + (rng_u64(&rng) >> (24 + i % 40));
			hist_record(&single, skel->bss->values[i]);
		}
		kernel_indices(BATCH);
	}
	merged(&several);
	for (int i = 0; i < BUCKET_COUNT_DEFAULT; i++)
		if (hist_at(&several, i) != hist_at(&single, i))
			fail("bucket %d: %d CPUs %llu, one CPU %llu\n", i, cpus,
			     (unsigned long long)hist_at(&several, i),
			     (unsigned long long)hist_at(&single, i));
	if (several.count + single.over != single.count ||
	    single.count != 4ull * cpus * BATCH)
		fail("values: %d CPUs %llu, one CPU %llu\n", cpus,
		     (unsigned long long)several.count, (unsigned long long)single.count);
	hist_release(&several);
	hist_release(&single);
}

/* A kernel whose constants are off by one must not pass. */
static void test_control(void)
{
	unsigned long before = failures;

	printf("control, three lines of failure expected at least:\n");
	load(3);
	for (int i = 0; i < 16; i++)
		skel->bss->steps[i]++;
	for (int i = 0; i < 8; i++)
		skel->bss->values[i] = bucket_edges_floor(3, 63 * 8 + i);
	compare(3, 8);
	if (failures - before < 3) {
		printf("wrong constants went unnoticed\n");
		failures += 100;
		return;
	}
	failures = before;
}

int main(void)
{
	for (int schema = BUCKET_SCHEMA_MIN; schema <= BUCKET_SCHEMA_MAX; schema++)
		test_edges(schema);
	printf("%lu values in %d schemas, %lu failures\n", checked,
	       BUCKET_SCHEMA_MAX - BUCKET_SCHEMA_MIN + 1, failures);
	test_merge();
	test_control();
	buckets_bpf__destroy(skel);
	return failures ? 1 : 0;
}
