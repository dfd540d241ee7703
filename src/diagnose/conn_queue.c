/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/conn_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sort.h"

struct due_sample {
	uint64_t intended;
	size_t sample;
};

static int conn_queue_by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int conn_queue_by_due(const void *a, const void *b)
{
	const struct due_sample *x = a, *y = b;

	return sort_order(x->intended, y->intended) ?: sort_order(x->sample, y->sample);
}

int conn_queue_find(const struct event_sample *samples, size_t n, uint64_t slots, bool *queued)
{
	struct due_sample *due = calloc(n + 1, sizeof(*due));
	uint64_t *sent = calloc(n + 1, sizeof(*sent)), *done = calloc(n + 1, sizeof(*done));
	size_t out = 0, back = 0;
	uint64_t until = 0;
	int err = due && sent && done ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		due[i] = (struct due_sample){ .intended = samples[i].intended, .sample = i };
		sent[i] = samples[i].sent;
		done[i] = samples[i].done;
	}
	if (err)
		n = 0;
	if (n) {
		qsort(due, n, sizeof(*due), conn_queue_by_due);
		qsort(sent, n, sizeof(*sent), conn_queue_by_time);
		qsort(done, n, sizeof(*done), conn_queue_by_time);
	}
	for (size_t i = 0; i < n; i++) {
		const struct event_sample *s = &samples[due[i].sample];
		bool waits;

		/*
		 * `out` counts the requests sent up to this request's due time, including this one
		 * if it is sent when due. This may set queued[] for it: harmless, since its wait is
		 * 0 ns.
		 */
		while (out < n && sent[out] <= s->intended)
			out++;
		while (back < n && done[back] <= s->intended)
			back++;
		/*
		 * While an earlier request is queued, up to `until`, this one waits too: requests
		 * leave the queue in the order in which they are due.
		 */
		waits = s->intended < until || (out > back && out - back >= slots);
		queued[due[i].sample] = waits;
		if (waits && s->sent > until)
			until = s->sent;
	}
	free(due);
	free(sent);
	free(done);
	return err;
}
