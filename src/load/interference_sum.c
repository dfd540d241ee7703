// SPDX-License-Identifier: Apache-2.0
#include "load/interference_sum.h"

#include "stats/bucket_edges.h"

#define GAP_SCHEMA 3

const char *interference_name(uint32_t what)
{
	static const char *const names[NOISE_MAX] = {
		[NOISE_GAP] = "gap", [NOISE_STEAL] = "steal", [NOISE_SOFTIRQ] = "softirq",
		[NOISE_PREEMPTED] = "preempted", [NOISE_FREQUENCY] = "frequency",
	};

	return what < NOISE_MAX ? names[what] : NULL;
}

void interference_sum_init(struct interference_sum *sum)
{
	*sum = (struct interference_sum){ 0 };
	hist_init(&sum->gaps, GAP_SCHEMA);
}

void interference_sum_release(struct interference_sum *sum)
{
	hist_release(&sum->gaps);
}

static void add_frequency(struct interference_sum *sum, uint64_t khz)
{
	if (!sum->lowest_khz || khz < sum->lowest_khz)
		sum->lowest_khz = khz;
	if (khz > sum->highest_khz)
		sum->highest_khz = khz;
}

int interference_sum_add(struct interference_sum *sum, const struct event_noise *noise)
{
	if (noise->what == NOISE_NONE || noise->what >= NOISE_MAX)
		return 0;
	sum->count[noise->what]++;
	if (noise->what == NOISE_FREQUENCY) {
		add_frequency(sum, noise->amount);
		return 0;
	}
	sum->amount[noise->what] += noise->amount;
	return noise->what == NOISE_GAP ? hist_record(&sum->gaps, noise->amount) : 0;
}

double interference_sum_gaps_above(const struct interference_sum *sum, uint64_t ns)
{
	const struct hist *gaps = &sum->gaps;
	int32_t index = INT32_MIN;
	uint64_t n;
	double time = (double)gaps->over * (double)BUCKET_LIMIT;

	while (hist_next(gaps, &index, &n)) {
		if (bucket_edges_floor(gaps->schema, index) > ns)
			time += (double)n * bucket_edges_double(gaps->schema, index);
	}
	return time;
}
