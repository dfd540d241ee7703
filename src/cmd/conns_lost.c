/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_lost.h"

#include "base/bug.h"
#include "conns/conns.h"

/*
 * Reports the increase of a loss as an EV_COUNT event. `n`: total of the loss; `*reported`: part of
 * the total that earlier events reported. Returns 0 or -errno.
 */
static int conns_lost_put_one(struct event_sink *sink, struct event_dict *dict, const char *reason,
			      uint64_t n, uint64_t *reported, uint64_t now)
{
	struct event_count count = { .what = COUNT_LOSS, .count = n - *reported };

	if (n <= *reported) /* a smaller total means that the counter could not be read */
		return 0;
	*reported = n;
	count.reason = event_dict_intern(dict, DICT_STRING, reason, sink, now);
	return event_put(sink, EV_COUNT, now, &count, sizeof(count));
}

int conns_lost_put(struct conns_lost_reported *reported, struct conns_source *source,
		   struct event_sink *sink, struct event_dict *dict, uint64_t now)
{
	struct conns_lost lost;
	struct conns_ends ends;
	int err = 0;

	conns_source_lost(source, &lost);
	conns_source_ends(source, &ends);
	const struct {
		const char *reason;
		uint64_t n, *reported;
	} rows[] = {
		{ "no-memory", lost.no_memory, &reported->lost.no_memory },
		{ "ends-not-told", lost.ring, &reported->lost.ring },
		{ "timers-not-counted", lost.timers, &reported->lost.timers },
		{ "programs-skipped", lost.skipped, &reported->lost.skipped },
		{ CONNS_LOSS_CALLS, conns_source_calls_left_out(source), &reported->calls },
		{ CONNS_LOSS_CONNECTIONS, ends.left_out, &reported->connections },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows) && !err; i++)
		err = conns_lost_put_one(sink, dict, rows[i].reason, rows[i].n, rows[i].reported,
					 now);
	return err;
}
