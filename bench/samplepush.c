/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samplepush: what it costs a load thread to hand over a sample: filled in place in its queue, as
 * src/load/request.c does it. The consumer takes them between the timed parts. Prints the median
 * and the best round in ns per sample; exit code 1 beyond the limit.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "event/layout.h"
#include "load/spsc.h"

#define PLACES (1 << 15) /* as of a load thread */
#define PUSHES 1024      /* between two readings of the clock */
#define ROUNDS 4001
#define LIMIT_NS 10.0

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void push(struct spsc_queue *ring, const struct event_sample *sample)
{
	struct event_sample *place = spsc_reserve(ring);

	if (!place)
		abort();
	*place = *sample;
	spsc_commit(ring);
}

static double round_of(struct spsc_queue *ring)
{
	struct event_sample sample = { .intended = 1, .done = 2 };
	int64_t begin = clock_mono_ns(clock_system()), end;
	uint64_t n;
	int i;

	for (i = 0; i < PUSHES; i++) {
		sample.done += i;
		push(ring, &sample);
	}
	end = clock_mono_ns(clock_system());
	while (spsc_ready(ring)) {
		spsc_peek(ring, UINT64_MAX, &n);
		spsc_consume(ring, n);
	}
	return (double)(end - begin) / PUSHES;
}

int main(void)
{
	static double ns[ROUNDS];
	struct spsc_queue ring;
	int i;

	if (spsc_init(&ring, sizeof(struct event_sample), PLACES))
		return 2;
	for (i = 0; i < ROUNDS; i++)
		ns[i] = round_of(&ring);
	spsc_release(&ring);
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	printf("a sample: %.1f ns at the median of %d rounds, %.1f ns at best (limit %.0f)\n",
	       ns[ROUNDS / 2], ROUNDS, ns[0], LIMIT_NS);
	return ns[ROUNDS / 2] > LIMIT_NS;
}
