// SPDX-License-Identifier: Apache-2.0
#include "load/ledger.h"

#include "stats/bucket_edges.h"

#define GAP_SCHEMA 3

const char *noise_name(uint32_t what)
{
	static const char *const names[NOISE_MAX] = {
		[NOISE_GAP] = "gap", [NOISE_STEAL] = "steal", [NOISE_SOFTIRQ] = "softirq",
		[NOISE_PREEMPTED] = "preempted", [NOISE_FREQUENCY] = "frequency",
	};

	return what < NOISE_MAX ? names[what] : NULL;
}

void ledger_init(struct ledger *ledger)
{
	*ledger = (struct ledger){ 0 };
	hist_init(&ledger->gaps, GAP_SCHEMA);
}

void ledger_release(struct ledger *ledger)
{
	hist_release(&ledger->gaps);
}

static void add_frequency(struct ledger *ledger, uint64_t khz)
{
	if (!ledger->lowest_khz || khz < ledger->lowest_khz)
		ledger->lowest_khz = khz;
	if (khz > ledger->highest_khz)
		ledger->highest_khz = khz;
}

int ledger_add(struct ledger *ledger, const struct event_noise *noise)
{
	if (noise->what == NOISE_NONE || noise->what >= NOISE_MAX)
		return 0;
	ledger->count[noise->what]++;
	if (noise->what == NOISE_FREQUENCY) {
		add_frequency(ledger, noise->amount);
		return 0;
	}
	ledger->amount[noise->what] += noise->amount;
	return noise->what == NOISE_GAP ? hist_record(&ledger->gaps, noise->amount) : 0;
}

double ledger_gaps_above(const struct ledger *ledger, uint64_t ns)
{
	const struct hist *gaps = &ledger->gaps;
	int32_t index = INT32_MIN;
	uint64_t n;
	double sum = (double)gaps->over * (double)BUCKET_LIMIT;

	while (hist_next(gaps, &index, &n)) {
		if (bucket_edges_floor(gaps->schema, index) > ns)
			sum += (double)n * bucket_edges_double(gaps->schema, index);
	}
	return sum;
}
