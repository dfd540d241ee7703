/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_lost.h"

#include "conns/conns.h"

static int put_lost(struct conns_lost_told *told, const struct conns_source *source,
		    struct event_sink *sink, uint64_t now)
{
	struct event_loss loss = { .why = LOSS_PRODUCER, .kind = EV_CONN };
	struct conns_lost lost;
	uint64_t sum;

	conns_source_lost(source, &lost);
	sum = lost.no_memory + lost.ring + lost.timers;
	loss.records = sum - (told->lost.no_memory + told->lost.ring + told->lost.timers);
	told->lost = lost;
	return loss.records ? event_put(sink, EV_LOSS, now, &loss, sizeof(loss)) : 0;
}

/* `*told` of `n`: so many more are left out. */
static int put_left_out(struct event_sink *sink, struct event_dict *dict, const char *reason,
			uint64_t n, uint64_t *told, uint64_t now)
{
	struct event_count count = { .what = COUNT_LOSS, .count = n - *told };

	if (!count.count)
		return 0;
	*told = n;
	count.reason = event_dict_intern(dict, DICT_STRING, reason, sink, now);
	return event_put(sink, EV_COUNT, now, &count, sizeof(count));
}

int conns_lost_put(struct conns_lost_told *told, struct conns_source *source,
		   struct event_sink *sink, struct event_dict *dict, uint64_t now)
{
	struct conns_ends ends;
	int err = put_lost(told, source, sink, now);

	conns_source_ends(source, &ends);
	if (!err)
		err = put_left_out(sink, dict, CONNS_LOSS_CALLS,
				   conns_source_calls_left_out(source), &told->calls, now);
	if (!err)
		err = put_left_out(sink, dict, CONNS_LOSS_CONNECTIONS, ends.left_out,
				   &told->connections, now);
	return err;
}
