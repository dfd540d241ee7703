/* SPDX-License-Identifier: Apache-2.0 */
#include "load/consumer.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "load/asserts.h"
#include "load/setup_report.h"

void load_consumer_init(struct load_consumer *consumer, const struct load_question *question)
{
	*consumer = (struct load_consumer){ .question = *question };
}

void load_consumer_release(struct load_consumer *consumer)
{
	load_analysis_free(consumer->analysis);
	consumer->analysis = NULL;
	load_setup_release(&consumer->setup);
}

static void load_consumer_apply_question(struct load_consumer *consumer)
{
	struct load_analysis_config *c = &consumer->setup.analysis;
	const struct load_question *q = &consumer->question;

	if (q->percentile > 0)
		c->percentile = q->percentile;
	c->excise |= q->excise;
	if (q->confidence > 0)
		c->confidence = q->confidence;
	c->tolerated = q->tolerated;
	if (q->method)
		c->method = q->method - 1;
}

/*
 * Makes the analysis, unless it exists. Called at the latest at the first event that is not a fact:
 * the facts before this event are the configuration of the run.
 */
static int load_consumer_begin(struct load_consumer *consumer)
{
	int err;

	if (consumer->analysis)
		return 0;
	err = load_setup_complete(&consumer->setup);
	if (err)
		return err;
	load_consumer_apply_question(consumer);
	consumer->analysis = load_analysis_new(&consumer->setup.analysis);
	if (!consumer->analysis)
		return -ENOMEM;
	if (consumer->interrupted)
		load_analysis_interrupted(consumer->analysis);
	return 0;
}

/* Parses "NUMBER: REASON", and marks the agent as lost. Returns 0 or -EBADMSG. */
static int load_consumer_agent_lost(struct load_consumer *consumer, const char *value)
{
	const char *why = strstr(value, ": ");
	char number[8] = "";
	uint64_t agent;

	if (!why || (size_t)(why - value) >= sizeof(number))
		return -EBADMSG;
	memcpy(number, value, (size_t)(why - value));
	if (parse_u64(number, &agent) || agent >= consumer->setup.analysis.agents)
		return -EBADMSG;
	consumer->ended |= 1ULL << agent;
	load_analysis_agent_lost(consumer->analysis, (uint32_t)agent, why + 2);
	return 0;
}

static int load_consumer_fact(struct load_consumer *consumer, const struct event *event)
{
	int err;

	const char *key, *value;

	event_fact_get(event, &key, &value);
	err = agent_list_add_fact(&consumer->agents, key, value);
	if (err)
		return err;
	if (!strcmp(key, LOAD_FACT_INTERRUPTED)) {
		consumer->interrupted = true;
		if (consumer->analysis)
			load_analysis_interrupted(consumer->analysis);
		return 0;
	}
	if (!strcmp(key, LOAD_FACT_AGENT_LOST)) {
		err = load_consumer_begin(consumer);
		return err ? err : load_consumer_agent_lost(consumer, value);
	}
	/*
	 * LOAD_FACT_NIC_ERROR is read even after the run has begun: the largest conversion error of
	 * NIC time stamps is known only at the end.
	 */
	if (!strcmp(key, LOAD_FACT_NIC_ERROR))
		return load_setup_add_fact(&consumer->setup, key, value);
	/* Facts about the configuration are ignored once the run has begun. */
	return consumer->analysis ? 0 : load_setup_add_fact(&consumer->setup, key, value);
}

/* Counts records that the recording's writer dropped at the size limit. */
static void load_consumer_loss(struct load_consumer *consumer, const struct event *event)
{
	struct event_loss loss;

	event_copy(event, &loss, sizeof(loss));
	if (loss.why == LOSS_SIZE_LIMIT)
		consumer->unwritten += loss.records;
}

static int load_consumer_records(struct load_consumer *consumer, const struct event_block *block)
{
	struct event_load load;
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		err = event.kind == EV_FACT ? load_consumer_fact(consumer, &event)
					    : load_consumer_begin(consumer);
		if (event.kind == EV_LOSS)
			load_consumer_loss(consumer, &event);
		if (event.kind != EV_LOAD)
			continue;
		event_copy(&event, &load, sizeof(load));
		if (load.flags & LOAD_FINAL && load.agent < LOAD_AGENTS_MAX)
			consumer->ended |= 1ULL << load.agent;
	}
	return err;
}

int load_consumer_add(struct load_consumer *consumer, const struct event_block *block)
{
	int err = block->kind == EV_NONE ? load_consumer_records(consumer, block)
					 : load_consumer_begin(consumer);

	if (!err && consumer->tap)
		err = consumer->tap(consumer->tap_ctx, block);
	if (err || !consumer->analysis)
		return err;
	return load_analysis_block(consumer->analysis, block);
}

bool load_consumer_ended(const struct load_consumer *consumer)
{
	uint32_t agents = consumer->setup.analysis.agents;

	return consumer->analysis && (uint32_t)__builtin_popcountll(consumer->ended) >= agents;
}

int load_consumer_finish(struct load_consumer *consumer)
{
	int err = load_consumer_begin(consumer);

	return err ? err : load_analysis_finish(consumer->analysis);
}

int load_consumer_report(struct load_consumer *consumer, struct report *report)
{
	int err = load_analysis_report(consumer->analysis, report);

	if (!err)
		load_setup_report(&consumer->setup, report);
	if (!err)
		agent_list_report(&consumer->agents, report);
	return err ? err : report_error(report);
}

int load_consumer_summary(struct load_consumer *consumer, double q,
			  const struct load_conditions *conditions, struct load_summary *out)
{
	/* The summary uses only the report's reasons, so the report needs no provenance. */
	const struct provenance none = { 0 };
	struct report r;
	int err;

	report_init(&r, &none);
	err = load_consumer_report(consumer, &r);
	if (!err)
		load_summary_make(consumer->analysis, &consumer->setup, q, &r, out);
	if (!err && conditions)
		load_asserts_see_run(conditions, consumer->analysis, &r, out);
	report_release(&r);
	return err;
}
