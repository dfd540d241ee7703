/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_calls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "probe/connection/conn_table.h"
#include "bpf/conns.skel.h"

static enum calls_of conns_calls_scope(const struct conns_log *log)
{
	return !log->on ? CALLS_OF_NONE : log->all ? CALLS_OF_ALL : CALLS_OF_CHOSEN;
}

int conns_calls_select(struct conns_calls *c, struct conns_bpf *skel, const struct conns_log *log,
		       const struct conn_table *table)
{
	int err = 0;

	*c = (struct conns_calls){
		.skel = log->on ? skel : NULL, .self = (uint32_t)getpid(), .table = table,
	};
	vec_init(&c->events, CONNS_CALLS_HELD);
	skel->rodata->calls_of = conns_calls_scope(log);
	if (!log->on) /* calls are not logged: make the ring buffer as small as possible */
		err = bpf_map__set_max_entries(skel->maps.calls, (uint32_t)getpagesize());
	if (!err && (!log->on || log->all))
		err = bpf_map__set_max_entries(skel->maps.chosen, 1);
	return err;
}

/* Adds a logged call from the ring to `events`, except hostlat's own calls. */
static int conns_calls_take(void *ctx, void *data, size_t size)
{
	struct conns_calls *c = ctx;
	const struct conn_seen *seen;
	struct event_call call;

	if (size < sizeof(call))
		return 0;
	call = *(const struct event_call *)data;
	if (call.pid == c->self)
		return 0;
	seen = conn_table_find(c->table, call.netns, call.cookie);
	call.flow = seen ? seen->flow : 0;
	if (vec_push(&c->events, call))
		c->overflowed++;
	return 0;
}

int conns_calls_open(struct conns_calls *c, const struct conns_log *log)
{
	if (!c->skel)
		return 0;
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.calls), conns_calls_take, c, NULL);
	if (!c->ring)
		return -errno;
	return log->cookie ? conns_calls_choose(c, log->cookie) : 0;
}

void conns_calls_release(struct conns_calls *c)
{
	ring_buffer__free(c->ring);
	vec_release(&c->events);
}

int conns_calls_choose(struct conns_calls *c, uint64_t cookie)
{
	const uint8_t one = 1;
	int err;

	if (!c->skel)
		return 0;
	err = bpf_map_update_elem(bpf_map__fd(c->skel->maps.chosen), &cookie, &one, BPF_NOEXIST);
	if (!err)
		__atomic_add_fetch(&c->skel->bss->calls_waiting, 1, __ATOMIC_RELAXED);
	return err && errno != EEXIST ? -errno : 0;
}

void conns_calls_forget(struct conns_calls *c, uint64_t cookie)
{
	if (!c->skel || __atomic_load_n(&c->skel->bss->calls_waiting, __ATOMIC_RELAXED) <= 0)
		return;
	if (!bpf_map_delete_elem(bpf_map__fd(c->skel->maps.chosen), &cookie))
		__atomic_sub_fetch(&c->skel->bss->calls_waiting, 1, __ATOMIC_RELAXED);
}

static uint64_t conns_calls_count_lost(const struct conns_calls *c)
{
	uint64_t sum = 0;

	for (int cpu = 0; cpu < CONN_CPUS; cpu++)
		sum += *(volatile const uint64_t *)&c->skel->bss->calls_left_out[cpu].n;
	return sum;
}

/* Sorts events by time. Events arrive nearly sorted, so an insertion takes one or two steps. */
static void conns_calls_sort(struct conns_call_events *events)
{
	struct event_call *e = events->items;

	for (size_t i = 1; i < events->len; i++) {
		const struct event_call it = e[i];
		size_t at = i;

		for (; at && e[at - 1].time > it.time; at--)
			e[at] = e[at - 1];
		e[at] = it;
	}
}

int conns_calls_read(struct conns_calls *c, uint64_t grant)
{
	int n;

	if (!c->skel)
		return 0;
	if (!c->granted) /* calls do not count as lost before user space first permits logging */
		c->lost_before = conns_calls_count_lost(c);
	c->granted = true;
	n = ring_buffer__consume(c->ring);
	conns_calls_sort(&c->events);
	if (grant > CALLS_GRANT_MAX)
		grant = CALLS_GRANT_MAX;
	__atomic_store_n(&c->skel->bss->calls_granted, (int64_t)grant, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->skel->data->calls_period, c->skel->data->calls_period + 1,
			 __ATOMIC_SEQ_CST);
	return n < 0 ? n : 0;
}

bool conns_calls_block(struct conns_calls *c, struct event_block *block)
{
	const struct event_call *from = c->events.items + c->handed;
	size_t n = c->events.len - c->handed;

	if (!n) {
		vec_clear(&c->events);
		c->handed = 0;
		return false;
	}
	if (n > EVENT_BLOCK_SIZE / sizeof(*from))
		n = EVENT_BLOCK_SIZE / sizeof(*from);
	*block = (struct event_block){
		.kind = EV_CALL, .core = EVENT_CORE_NONE, .count = (uint32_t)n,
		.record_size = sizeof(*from), .first = from->time, .reach = from->time,
		.last = from[n - 1].time, .size = n * sizeof(*from), .data = from,
	};
	c->handed += n;
	return true;
}

uint64_t conns_calls_left_out(const struct conns_calls *c)
{
	return c->skel ? conns_calls_count_lost(c) - c->lost_before + c->overflowed : 0;
}

void conns_calls_thinned(struct conns_calls *c)
{
	if (!c->skel || c->skel->rodata->calls_of != CALLS_OF_ALL)
		return;
	c->skel->bss->calls_dry = c->skel->data->calls_period;
	c->skel->data->calls_period++;
}
