/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compare_input.h"

#include <errno.h>

#include "cmd/recorded_file.h"

static int compare_input_feed(void *ctx, const struct event *event)
{
	struct compare_input *in = ctx;
	const char *key, *value;
	int err = 0;

	if (event->kind == EV_FACT) {
		event_fact_get(event, &key, &value);
		run_facts_feed(&in->run, key, value);
		err = compare_facts_add(&in->facts, key, value);
	}
	return err ? err : watch_run_feed(in->watch, event);
}

/* Adds the kinds of damage found in the recording `source` to those of this input. */
static void compare_input_note_damage(struct compare_input *in, struct event_source *source)
{
	struct event_damage damage;

	event_source_damage(source, &damage);
	in->damage.reasons |= damage.reasons;
}

static int compare_input_read_conns(struct compare_input *in)
{
	struct compare_readers *from = &in->from;
	struct event_source *source = event_reader_source(from->conns);
	struct event_damage damage;
	struct event_block block;
	int err = conns_run_new(&in->conns, from->folder ? conns_scope_selects : NULL,
				&from->scope);

	if (!err)
		err = event_source_rewind(source);
	while (!err && (err = event_source_next(source, &block)) > 0)
		err = conns_run_feed(in->conns, &block);
	if (err)
		return err;
	event_source_damage(source, &damage);
	compare_input_note_damage(in, source);
	return conns_run_finish(in->conns, &damage);
}

int compare_input_read(struct compare_input *in, const char *path)
{
	int err;

	in->file = path;
	compare_facts_init(&in->facts);
	if (compare_readers_open(&in->from, path))
		return -EIO;
	err = watch_run_new(&in->watch);
	if (!err)
		err = recorded_file_events(in->from.host, compare_input_feed, in);
	if (!err)
		compare_input_note_damage(in, event_reader_source(in->from.host));
	if (!err) {
		err = event_reader_cores(in->from.host, EV_MESSAGE, NULL, 0);
		in->messages = err > 0;
	}
	in->stages = err >= 0 && watch_run_any(in->watch) && in->from.host != in->from.conns;
	in->load = in->from.load;
	if (err >= 0 && in->from.conns)
		err = compare_input_read_conns(in);
	if (err < 0)
		recorded_file_failed(in->file, "compare", err);
	return err < 0 ? err : 0;
}

int compare_input_read_load(struct compare_input *in)
{
	const struct load_question none = { 0 };
	struct event_source *source = event_reader_source(in->from.load);
	struct event_block block;
	int err = event_source_rewind(source);

	in->consumed = true;
	load_consumer_init(&in->consumer, &none);
	while (!err && (err = event_source_next(source, &block)) > 0) {
		err = load_consumer_add(&in->consumer, &block);
		err = err < 0 ? err : 0;
	}
	if (!err)
		err = load_consumer_finish(&in->consumer);
	if (!err)
		compare_input_note_damage(in, source);
	if (err)
		recorded_file_failed(in->file, "compare", err);
	return err;
}

bool compare_input_has_conns(const struct compare_input *in)
{
	return in->conns && conns_run_any(in->conns);
}

void compare_input_release(struct compare_input *in)
{
	if (in->consumed)
		load_consumer_release(&in->consumer);
	watch_run_free(in->watch);
	compare_facts_release(&in->facts);
	conns_run_free(in->conns);
	compare_readers_release(&in->from);
}
