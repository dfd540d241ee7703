/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_progress.h"

#include <stdio.h>

#include "clock/clock.h"
#include "report/human.h"

#define LATENCY_SCHEMA 5 /* buckets 2 % wide: a line that changes needs no more */
#define RUNNING_MAX (6 * HUMAN_MAX)

void load_progress_begin(struct load_progress *p, bool quiet)
{
	progress_begin(&p->line, quiet, clock_now());
	hist_init(&p->latency, LATENCY_SCHEMA);
}

void load_progress_add(struct load_progress *p, const struct load_setup *setup,
		       const struct event_block *block)
{
	const bool closed = setup->analysis.loop == LOOP_CLOSED;
	struct event_sample s;

	if (!p->line.enabled || block->kind != EV_SAMPLE)
		return;
	for (uint32_t i = 0; i < block->count; i++) {
		event_block_copy(block, i, &s, sizeof(s));
		/* With latency agents, only their samples are latencies. */
		if (s.flags & SAMPLE_FAILED || !(s.flags & SAMPLE_PROBE) != !setup->analysis.probes)
			continue;
		hist_record(&p->latency, s.done - (closed ? s.sent : s.intended));
	}
}

/* Formats "p50 193 µs, p99 1.1 ms, 999/s of 1 000/s"; without a sample, the part that is known. */
static void load_progress_put_running(const struct load_progress *p,
				      const struct load_consumer *consumer, char text[RUNNING_MAX])
{
	const struct load_analysis_config *a = &consumer->setup.analysis;
	char p50[HUMAN_MAX], p99[HUMAN_MAX], reached[HUMAN_MAX], asked[HUMAN_MAX];
	const double rate = load_analysis_achieved(consumer->analysis);
	struct hist_quantile median, tail;
	int n = 0;

	*text = '\0';
	if (!hist_quantile(&p->latency, 0.5, &median) && !hist_quantile(&p->latency, 0.99, &tail))
		n = snprintf(text, RUNNING_MAX, "p50 %s, p99 %s, ",
			     human_ns(p50, (uint64_t)median.value),
			     human_ns(p99, (uint64_t)tail.value));
	if (!(rate > 0))
		return;
	if (a->loop == LOOP_CLOSED)
		snprintf(text + n, RUNNING_MAX - (size_t)n, "%s/s, ", human_rate(reached, rate));
	else
		snprintf(text + n, RUNNING_MAX - (size_t)n, "%s/s of %s/s, ",
			 human_rate(reached, rate), human_rate(asked, a->rate));
}

void load_progress_show(struct load_progress *p, const struct load_consumer *consumer,
			const char *label)
{
	char low[HUMAN_MAX], high[HUMAN_MAX], value[HUMAN_MAX], count[HUMAN_MAX], left[HUMAN_MAX];
	char interval[4 * HUMAN_MAX] = "", needed[2 * HUMAN_MAX] = "", running[RUNNING_MAX];
	struct load_status status;

	if (!consumer->analysis || !p->line.enabled)
		return;
	load_analysis_status(consumer->analysis, &status);
	load_progress_put_running(p, consumer, running);
	if (status.hi_ns)
		snprintf(interval, sizeof(interval), ", p%g %s [%s, %s]",
			 100 * consumer->setup.analysis.percentile,
			 human_ns(value, status.quantile_ns), human_ns(low, status.lo_ns),
			 human_ns(high, status.hi_ns));
	if (status.needed > status.samples)
		snprintf(needed, sizeof(needed), " of about %s",
			 human_count(value, status.needed));
	progress_text(&p->line, clock_now(), "%s%s%sat most %s left, %s%s samples, %s%s",
		      label ? label : "", label ? ": " : "", running,
		      human_ns(left, status.remaining_ns), human_count(count, status.samples),
		      needed, load_state_name(status.state), interval);
}

void load_progress_end(struct load_progress *p)
{
	progress_end(&p->line);
	hist_release(&p->latency);
}
