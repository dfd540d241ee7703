/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_intake.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

void load_intake_init(struct load_intake *intake, const struct load_question *question,
		      struct load_files *files)
{
	*intake = (struct load_intake){ .question = *question, .files = files };
}

void load_intake_release(struct load_intake *intake)
{
	load_analysis_free(intake->analysis);
	intake->analysis = NULL;
	load_setup_release(&intake->setup);
}

static void ask(struct load_intake *intake)
{
	struct load_analysis_config *c = &intake->setup.analysis;
	const struct load_question *q = &intake->question;

	if (q->percentile > 0)
		c->percentile = q->percentile;
	if (q->confidence > 0)
		c->confidence = q->confidence;
	if (q->method)
		c->method = q->method - 1;
}

/* The facts are complete: something else has come. */
static int begin(struct load_intake *intake)
{
	int err;

	if (intake->analysis)
		return 0;
	err = load_setup_complete(&intake->setup);
	if (err)
		return err;
	ask(intake);
	intake->analysis = load_analysis_new(&intake->setup.analysis);
	if (!intake->analysis)
		return -ENOMEM;
	if (intake->interrupted)
		load_analysis_interrupted(intake->analysis);
	return 0;
}

/* "NUMBER: why" */
static int take_lost(struct load_intake *intake, const char *value)
{
	const char *why = strstr(value, ": ");
	char number[8] = "";
	uint64_t agent;

	if (!why || (size_t)(why - value) >= sizeof(number))
		return -EBADMSG;
	memcpy(number, value, (size_t)(why - value));
	if (parse_u64(number, &agent) || agent >= intake->setup.analysis.agents)
		return -EBADMSG;
	intake->ended |= 1ULL << agent;
	load_analysis_agent_lost(intake->analysis, (uint32_t)agent, why + 2);
	return 0;
}

static int take_fact(struct load_intake *intake, const struct event *event)
{
	int err;

	const char *key, *value;

	event_fact_get(event, &key, &value);
	run_facts_feed(&intake->facts, key, value);
	err = roster_take(&intake->roster, key, value);
	if (err)
		return err;
	if (!strcmp(key, LOAD_FACT_INTERRUPTED)) {
		intake->interrupted = true;
		if (intake->analysis)
			load_analysis_interrupted(intake->analysis);
		return 0;
	}
	if (!strcmp(key, LOAD_FACT_AGENT_LOST)) {
		err = begin(intake);
		return err ? err : take_lost(intake, value);
	}
	/* Known only when all is converted. */
	if (!strcmp(key, LOAD_FACT_NIC_ERROR))
		return load_setup_take(&intake->setup, key, value);
	/* What was asked for is settled once the run has begun. */
	return intake->analysis ? 0 : load_setup_take(&intake->setup, key, value);
}

/* Of the recording: what the writer could not keep. */
static void take_loss(struct load_intake *intake, const struct event *event)
{
	struct event_loss loss;

	event_copy(event, &loss, sizeof(loss));
	if (loss.why == LOSS_SIZE_LIMIT)
		intake->unwritten += loss.records;
}

static int take_records(struct load_intake *intake, const struct event_block *block)
{
	struct event_load load;
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && event_block_next(block, &at, &event)) {
		err = event.kind == EV_FACT ? take_fact(intake, &event) : begin(intake);
		if (event.kind == EV_LOSS)
			take_loss(intake, &event);
		if (event.kind != EV_LOAD)
			continue;
		event_copy(&event, &load, sizeof(load));
		if (load.flags & LOAD_FINAL && load.agent < LOAD_AGENTS_MAX)
			intake->ended |= 1ULL << load.agent;
	}
	return err;
}

int load_intake_take(struct load_intake *intake, const struct event_block *block)
{
	int err = block->kind == EV_NONE ? take_records(intake, block) : begin(intake);

	if (!err && intake->files)
		err = load_files_take(intake->files, block);
	if (err || !intake->analysis)
		return err;
	return load_analysis_block(intake->analysis, block);
}

bool load_intake_ended(const struct load_intake *intake)
{
	uint32_t agents = intake->setup.analysis.agents;

	return intake->analysis && (uint32_t)__builtin_popcountll(intake->ended) >= agents;
}

int load_intake_finish(struct load_intake *intake)
{
	int err = begin(intake);

	return err ? err : load_analysis_finish(intake->analysis);
}

int load_intake_report(struct load_intake *intake, struct report *report)
{
	int err = load_analysis_report(intake->analysis, report);

	if (!err)
		load_setup_report(&intake->setup, report);
	if (!err)
		roster_report(&intake->roster, report);
	return err ? err : report_error(report);
}

int load_intake_summary(struct load_intake *intake, double q, struct load_summary *out)
{
	struct provenance who = run_facts_provenance(&intake->facts, "load", LOAD_REPORT_SCHEMA);
	struct report r;
	int err;

	report_init(&r, &who);
	err = load_intake_report(intake, &r);
	if (!err)
		load_summary_make(intake->analysis, &intake->setup, q, &r, out);
	report_release(&r);
	return err;
}
