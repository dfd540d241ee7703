/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/load_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/conn_queue.h"

/* Threads of load generators, at most. */
#define LOAD_THREAD_IDS_MAX 4096u

void load_side_init(struct load_side *load, const struct diagnose_load *of)
{
	*load = (struct load_side){ .from_ns = of->from_ns, .to_ns = of->to_ns };
	vec_init(&load->samples, LOAD_SIDE_MAX);
	vec_init(&load->owners, LOAD_SIDE_MAX);
	vec_init(&load->threads, LOAD_THREAD_IDS_MAX);
	vec_init(&load->flows, FLOWS_MAX);
}

void load_side_release(struct load_side *load)
{
	vec_release(&load->samples);
	vec_release(&load->owners);
	vec_release(&load->threads);
	vec_release(&load->flows);
	free(load->queued);
}

bool request_counts(const struct event_sample *sample)
{
	return !(sample->flags & (SAMPLE_FAILED | SAMPLE_WARMUP | SAMPLE_UNSENT)) &&
	       sample->intended <= sample->sent && sample->sent <= sample->done;
}

/* Notes which thread has a flow, unless the sample before was of the same one. */
static int load_side_add_owner(struct load_side *load, uint32_t flow, uint32_t core)
{
	if (load->owners.len && vec_last(&load->owners)->flow == flow)
		return 0;
	return vec_push(&load->owners, (struct flow_owner){ flow, core });
}

static int load_side_add_sample(struct load_side *load, const struct event_block *block, uint32_t i)
{
	struct event_sample sample;
	int err;

	event_block_copy(block, i, &sample, sizeof(sample));
	if (sample.flags & SAMPLE_UNSENT || sample.intended > sample.sent ||
	    sample.sent > sample.done)
		return 0;
	err = vec_push(&load->samples, sample);
	if (!err)
		err = load_side_add_owner(load, sample.flow, block->core);
	if (err != -E2BIG)
		return err;
	load->beyond += load_side_counts(load, &sample);
	return 0;
}

/* Adds a thread from "NUMBER TID"; the requests of other threads are those of an unknown one. */
static int load_side_add_thread(struct load_side *load, const char *value)
{
	struct load_thread_id id;
	int err = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64, &id.core, &id.tid) == 2)
		err = vec_push(&load->threads, id);
	return err == -E2BIG ? 0 : err;
}

static int load_side_add_fact(struct load_side *load, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	if (!strcmp(key, "load.connections"))
		parse_u64(value, &load->connections);
	else if (!strcmp(key, "load.outstanding"))
		parse_u64(value, &load->outstanding);
	else if (!strcmp(key, "load.thread"))
		return load_side_add_thread(load, value);
	return 0;
}

static int load_side_add_block(struct load_side *load, const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	if (block->kind == EV_SAMPLE)
		for (uint32_t i = 0; i < block->count && !err; i++)
			err = load_side_add_sample(load, block, i);
	if (block->record_size)
		return err;
	while (!err && event_block_next(block, &at, &event)) {
		if (event.kind == EV_FLOW)
			err = vec_push(&load->flows,
				       *(const struct event_flow *)event.payload);
		else if (event.kind == EV_FACT)
			err = load_side_add_fact(load, &event);
	}
	return err == -E2BIG ? 0 : err;
}

static int load_side_order_by_sent(const void *a, const void *b)
{
	const struct event_sample *x = a, *y = b;

	return sort_order(x->flow, y->flow) ?: sort_order(x->sent, y->sent) ?:
	       sort_order(x->tx_offset, y->tx_offset);
}

static int load_side_order_owners(const void *a, const void *b)
{
	const struct flow_owner *x = a, *y = b;

	return sort_order(x->flow, y->flow);
}

uint32_t load_side_tid(const struct load_side *load, uint32_t flow)
{
	const struct flow_owner key = { .flow = flow };
	const struct flow_owner *owner =
		load->owners.len ? bsearch(&key, load->owners.items, load->owners.len, sizeof(key),
					   load_side_order_owners) : NULL;

	vec_for_each(&load->threads, t)
		if (owner && t->core == owner->core)
			return (uint32_t)t->tid;
	return 0;
}

int load_side_read(struct load_side *load, struct event_reader *reader)
{
	struct event_source *source = event_reader_source(reader);
	struct event_block block;
	int err = event_source_rewind(source);

	while (!err && (err = event_source_next(source, &block)) > 0)
		err = load_side_add_block(load, &block);
	recorded_flows_sort(&load->flows);
	if (load->samples.len)
		qsort(load->samples.items, load->samples.len, sizeof(*load->samples.items),
		      load_side_order_by_sent);
	if (load->owners.len)
		qsort(load->owners.items, load->owners.len, sizeof(*load->owners.items),
		      load_side_order_owners);
	if (err)
		return err;
	load->queued = calloc(load->samples.len + 1, sizeof(*load->queued));
	if (!load->queued)
		return -ENOMEM;
	if (!load->connections || !load->outstanding)
		return 0;
	return conn_queue_find(load->samples.items, load->samples.len,
			       load->connections * load->outstanding, load->queued);
}
