/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "output/json.h"
#include "output/text.h"

static int cannot_write(const struct watch_view *view, int err)
{
	log_error("can't write the result to %s: %s",
		  view->config->common->output ? view->config->common->output : "standard output",
		  strerror(-err));
	return -ECANCELED; /* said */
}

int watch_view_open(struct watch_view *view, const struct watch_view_config *config)
{
	const struct common_options *common = config->common;
	int err;

	*view = (struct watch_view){
		.config = config,
		.text = STRBUF_INIT(REPORT_MEMORY_MAX),
	};
	view->who = run_facts_provenance(&view->facts, config->command, WATCH_SCHEMA);
	view->watch = watch_new(config->stages);
	if (!view->watch)
		return -ENOMEM;
	err = outfile_open(&view->out, common->output);
	if (err)
		return cannot_write(view, err);
	view->terminal = terminal_style(view->out.fd, common_color(common, view->out.fd),
					&view->style);
	live_init(&view->live, view->out.fd);
	return 0;
}

void watch_view_release(struct watch_view *view)
{
	outfile_release(&view->out);
	strbuf_release(&view->text);
	watch_free(view->watch);
	view->watch = NULL;
}

static void render(struct watch_view *view, const struct report *report, struct strbuf *text)
{
	const struct common_options *common = view->config->common;

	if (common->json || common->json_lines)
		json_report(report, common->json ? JSON_DOCUMENT : JSON_LINE, text);
	else
		text_report(report, &view->style, text);
}

/* `last` keeps what is on the terminal and, for text, separates the totals from the intervals. */
static int show(struct watch_view *view, struct report *report, bool last)
{
	struct strbuf page = STRBUF_INIT(REPORT_MEMORY_MAX);
	bool json = view->config->common->json || view->config->common->json_lines;
	int err;

	strbuf_reset(&view->text);
	if (view->terminal && !json && !last) {
		render(view, report, &page);
		live_draw(&view->live, strbuf_str(&page), &view->text);
	} else {
		if (!json && view->intervals && !view->config->totals_only)
			strbuf_add(&view->text, "\n", 1);
		render(view, report, &view->text);
	}
	err = report_error(report) ? report_error(report) : view->text.error;
	if (!err)
		err = outfile_write(&view->out, strbuf_str(&view->text), view->text.len);
	strbuf_release(&page);
	return err ? cannot_write(view, err) : 0;
}

static int show_interval(struct watch_view *view)
{
	struct report report;
	int err;

	if (view->config->common->json ||
	    (view->config->totals_only && !view->config->common->json_lines))
		return 0;
	report_init(&report, &view->who);
	err = watch_report(view->watch, view->config->cumulative ? WATCH_TOTAL : WATCH_INTERVAL,
			   &report);
	if (!err)
		err = show(view, &report, false);
	report_release(&report);
	return err;
}

static void take_fact(struct watch_view *view, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	run_facts_take(&view->facts, key, value);
	view->who = run_facts_provenance(&view->facts, view->config->command, WATCH_SCHEMA);
}

int watch_view_take(void *ctx, const struct event_block *block)
{
	struct watch_view *view = ctx;
	struct event event;
	size_t at = 0;
	int err;

	while (event_block_next(block, &at, &event)) {
		if (event.kind == EV_FACT)
			take_fact(view, &event);
		err = watch_feed(view->watch, &event);
		if (err < 0 && err != -EBADMSG)
			return err;
		if (err != WATCH_CLOSED)
			continue;
		err = show_interval(view);
		if (err)
			return err;
		if (++view->intervals == view->config->count)
			return 1;
	}
	return 0;
}

/* One interval shown is its own total; JSON lines are intervals only. */
static bool totals_are_due(const struct watch_view *view)
{
	const struct watch_view_config *c = view->config;

	if (c->common->json_lines)
		return false;
	if (c->common->json || c->totals_only)
		return true;
	return !c->cumulative && view->intervals != 1;
}

/* What only came out at the end has no place in JSON lines, which are intervals. */
static void warn_of_reasons(const struct report *report)
{
	for (const struct row *row = report->reasons->first; row; row = row->next)
		log_warning("%s: %s%s%s", report->verdict, row->cells[1].string,
			    row->cells[2].type == VALUE_STRING ? ": " : "",
			    row->cells[2].type == VALUE_STRING ? row->cells[2].string : "");
}

/* The size limit may come as a surprise; the other ends were asked for. */
static void say_end(const struct watch_view *view, struct report *report)
{
	object_add(&report->body, "ended", value_string(view->ended));
	if (!strcmp(view->ended, RECORD_ENDED_FULL))
		report_finding(report, "The recording has ended at its size limit.");
}

int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error)
{
	bool late = (damage && damage->reasons) || record_error;
	bool lines = view->config->common->json_lines;
	struct report report;
	int err, code;

	if (damage)
		watch_set_damage(view->watch, damage);
	report_init(&report, &view->who);
	err = watch_report(view->watch, WATCH_TOTAL, &report);
	if (!err && view->ended)
		say_end(view, &report);
	if (!err && record_error)
		report_reason(&report, "recording-incomplete", strerror(-record_error),
			      "the recording could not be written whole");
	if (!err && (totals_are_due(view) || (late && !lines))) {
		live_keep(&view->live);
		err = show(view, &report, true);
	} else if (!err && late && !report_error(&report)) {
		warn_of_reasons(&report);
	}
	if (!err)
		err = outfile_commit(&view->out);
	code = report.partial ? EXIT_PARTIAL : EXIT_OK;
	report_release(&report);
	return err ? EXIT_CANNOT : code;
}
