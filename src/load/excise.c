/* SPDX-License-Identifier: Apache-2.0 */
#include "load/excise.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "load/analysis.h"

#define NEAR_TIMES 2       /* L, as a multiple of the percentile */
/* the first L, as a multiple of the median, since the tail may be the host's */
#define FIRST_TIMES 8
/*
 * Time that a server needs for the bunch of requests after a gap, as a multiple of the gap: at a
 * utilization u it is u / (1 - u), so this is enough up to u = 0.8. The check has twice as much.
 */
#define BACKLOG_TIMES 4
#define GAP_LATEST_NS (1ULL << 58)
#define KNOWN_MIN 1000     /* requests from which the percentile is known well enough for L */

void excise_init(struct excise *excise, double q)
{
	*excise = (struct excise){ .q = q };
	hist_init(&excise->kept, LOAD_SCHEMA);
	hist_init(&excise->checked, LOAD_SCHEMA);
}

void excise_release(struct excise *excise)
{
	hist_release(&excise->kept);
	hist_release(&excise->checked);
}

void excise_queue_init(struct excise_queue *queue)
{
	vec_init(&queue->requests, EXCISE_PENDING);
	vec_init(&queue->gaps, EXCISE_GAPS);
}

void excise_queue_release(struct excise_queue *queue)
{
	vec_release(&queue->requests);
	vec_release(&queue->gaps);
}

static int pushed(struct excise *excise, int err)
{
	excise->overflow |= err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

int excise_add(struct excise *excise, struct excise_queue *queue, uint64_t intended, uint64_t ns)
{
	return pushed(excise, vec_push(&queue->requests, (struct excise_request){ intended, ns }));
}

int excise_gap(struct excise *excise, struct excise_queue *queue, uint64_t begin, uint64_t end)
{
	/* Such gaps are not of this run; sums of times stay in range without them. */
	if (end > GAP_LATEST_NS)
		return 0;
	return pushed(excise, vec_push(&queue->gaps, (struct interference_span){ begin, end }));
}

static int excise_by_intended(const void *a, const void *b)
{
	const struct excise_request *x = a, *y = b;

	return sort_order(x->intended, y->intended) ?: sort_order(x->ns, y->ns);
}

static int excise_by_begin(const void *a, const void *b)
{
	const struct interference_span *x = a, *y = b;

	return sort_order(x->begin, y->begin) ?: sort_order(x->end, y->end);
}

/* Returns the time after a gap in which requests may be delayed by the bunch that follows it. */
static uint64_t excise_after(const struct excise *excise, const struct interference_span *gap)
{
	return BACKLOG_TIMES * (gap->end - gap->begin) + 2 * excise->near_ns;
}

/* Sets L, from the requests that are kept so far or, at first, from those that are pending. */
static void excise_measure(struct excise *excise, const struct excise_queue *queue)
{
	struct hist_quantile found;
	struct hist pending;

	if (excise->kept.count >= KNOWN_MIN) {
		if (!hist_quantile(&excise->kept, excise->q, &found))
			excise->near_ns = NEAR_TIMES * found.value;
		return;
	}
	hist_init(&pending, LOAD_SCHEMA);
	vec_for_each(&queue->requests, request) {
		if (hist_record(&pending, request->ns))
			break;
	}
	if (!hist_quantile(&pending, 0.5, &found))
		excise->near_ns = FIRST_TIMES * found.value;
	hist_release(&pending);
}

/* How far a list of gaps, by begin, has been passed, and the latest end of the passed ones. */
struct excise_reach {
	size_t next;
	uint64_t until, twice_until;
};

/* Advances to the gaps that matter for a request due at `ns`. */
static void reach_to(const struct excise *excise, const struct excise_queue *queue, uint64_t ns,
		     struct excise_reach *reach)
{
	while (reach->next < queue->gaps.len &&
	       queue->gaps.items[reach->next].begin <= ns + excise->near_ns) {
		const struct interference_span *gap = &queue->gaps.items[reach->next++];
		const uint64_t after = excise_after(excise, gap);

		if (gap->end + after > reach->until)
			reach->until = gap->end + after;
		if (gap->end + 2 * after > reach->twice_until)
			reach->twice_until = gap->end + 2 * after;
	}
}

/* Forgets gaps that are too early for any request due at `ns` or later. */
static void excise_forget(const struct excise *excise, struct excise_queue *queue, uint64_t ns)
{
	size_t n = 0;

	for (size_t i = 0; i < queue->gaps.len; i++) {
		const struct interference_span gap = queue->gaps.items[i];

		/* L may grow; so keep them for twice as long. */
		if (gap.end + 4 * excise_after(excise, &gap) >= ns)
			queue->gaps.items[n++] = gap;
	}
	queue->gaps.len = n;
}

int excise_decide(struct excise *excise, struct excise_queue *queue, uint64_t until,
		  int (*keep)(void *context, uint64_t intended, uint64_t ns), void *context)
{
	struct excise_request *requests = queue->requests.items;
	const size_t n = queue->requests.len;
	struct excise_reach reach = { 0 };
	size_t i = 0;
	int err = 0;

	if (!n)
		return 0;
	qsort(requests, n, sizeof(*requests), excise_by_intended);
	if (requests[0].intended >= until)
		return 0;
	if (queue->gaps.len)
		qsort(queue->gaps.items, queue->gaps.len, sizeof(*queue->gaps.items),
		      excise_by_begin);
	excise_measure(excise, queue);
	for (; !err && i < n && requests[i].intended < until; i++) {
		const struct excise_request *r = &requests[i];

		reach_to(excise, queue, r->intended, &reach);
		excise->seen++;
		if (r->intended <= reach.until)
			continue;
		err = hist_record(&excise->kept, r->ns);
		if (!err && r->intended > reach.twice_until)
			err = hist_record(&excise->checked, r->ns);
		if (!err)
			err = keep(context, r->intended, r->ns);
	}
	memmove(requests, requests + i, (n - i) * sizeof(*requests));
	queue->requests.len = n - i;
	excise_forget(excise, queue, until);
	return err;
}

uint64_t excise_known(const struct excise *excise, uint64_t oldest)
{
	const uint64_t wait =
		excise->near_ns > EXCISE_WAIT_NS ? excise->near_ns : EXCISE_WAIT_NS;

	return oldest > wait ? oldest - wait : 0;
}

double excise_share(const struct excise *excise)
{
	return excise->seen ? (double)excise->kept.count / (double)excise->seen : NAN;
}
