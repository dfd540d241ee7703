/* SPDX-License-Identifier: Apache-2.0 */
/* The result as one sentence: the latency to the last stage, and who kept readers off a CPU. */
#include "event/names.h"
#include "report/human.h"
#include "watch/culprits.h"
#include "watch/findings.h"

/* Shares of a command in all waits for a CPU: of all of them, of most of them. */
#define ALL_SHARE  0.95
#define MOST_SHARE 0.5

/*
 * Returns the last stage's row of received packets, of several (origins, protocols) the one with
 * the most; rows are in the order of stages. NULL: there is none.
 */
static const struct watch_row *watch_headline_row(const struct watch *w, enum watch_span span)
{
	const struct watch_row *last = NULL;

	vec_for_each(&w->rows, item) {
		const struct watch_row *row = *item;

		const uint64_t count = row->hists[span][DIST_LATENCY].count;

		if (row->id.direction == DIR_INGRESS && count &&
		    (!last || row->id.stage != last->id.stage ||
		     count > last->hists[span][DIST_LATENCY].count))
			last = row;
	}
	return last;
}

/* Returns "p99 to `read` is 3.5 ms, the median 35 µs"; NULL: nothing was measured. */
static const char *watch_headline_latency(const struct watch *w, enum watch_span span,
					  struct report *r)
{
	const struct watch_row *row = watch_headline_row(w, span);
	struct hist_quantile usual, tail;
	char a[HUMAN_MAX], b[HUMAN_MAX];
	const char *words = NULL;
	struct hist sum;
	int err;

	if (!row)
		return NULL;
	err = watch_pool_rows(w, span, DIST_LATENCY, row->id.stage, row->id.protocol,
			      row->id.origin, &sum);
	if (!err && !hist_quantile(&sum, 0.5, &usual) && !hist_quantile(&sum, 0.99, &tail))
		words = report_format(r, "p99 to `%s` is %s, the median %s",
				      stage_name(row->id.stage), human_ns(a, tail.value),
				      human_ns(b, usual.value));
	hist_release(&sum);
	if (err)
		report_fail(r, err);
	return words;
}

/* Returns ", held mostly by nginx (pid 4690)"; "" if nobody is known. */
static const char *watch_headline_culprit(const struct watch *w, enum watch_span span,
					  struct report *r)
{
	const struct watch_culprit *top;
	struct watch_culprits c;
	double share;

	watch_commands(w, span, 1, &c);
	if (!c.total_ns || !c.n)
		return "";
	top = &c.list[0];
	share = (double)top->ns / (double)c.total_ns;
	return report_format(r, ", held %sby %.*s (%s)%s",
			     share >= ALL_SHARE || share < MOST_SHARE ? "" : "mostly ",
			     EVENT_COMM_LEN, top->task->id.comm,
			     top->processes > 1 ? report_format(r, "%u processes", top->processes) :
						  report_format(r, "pid %u", top->task->id.pid),
			     share < MOST_SHARE ? " and others" : "");
}

int watch_headline(const struct watch *w, enum watch_span span, struct report *r)
{
	const char *latency = watch_headline_latency(w, span, r);
	char share[HUMAN_MAX], least[HUMAN_MAX];
	struct watch_waits waits;
	int err = watch_cpu_waits(w, span, &waits);

	if (err)
		return err;
	if (!latency)
		report_headline_said(r, "%s", r->findings.first ? r->findings.first->string :
							      "No received packet was measured.");
	else if (waits.notable)
		report_headline_said(r, "%s: %s of the messages waited %s or longer for a CPU%s.",
				     latency, human_fraction(share, waits.share),
				     human_ns(least, waits.least_ns),
				     watch_headline_culprit(w, span, r));
	else
		report_headline_said(r, "%s.", latency);
	return 0;
}
