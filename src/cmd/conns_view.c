/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_view.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "output/json.h"
#include "output/text.h"

static int cannot_write(const struct conns_view *view, int err)
{
	log_error("can't write the result to %s: %s",
		  view->config->common->output ? view->config->common->output : "standard output",
		  strerror(-err));
	return -ECANCELED; /* said */
}

int conns_view_open(struct conns_view *view, const struct conns_view_config *config)
{
	const struct common_options *common = config->common;
	int err;

	*view = (struct conns_view){
		.config = config,
		.text = STRBUF_INIT(REPORT_MEMORY_MAX),
	};
	view->who = run_facts_provenance(&view->facts, "conns", CONNS_SCHEMA);
	view->conns = conns_new(config->options);
	if (!view->conns) {
		log_error("no memory");
		return -ENOMEM;
	}
	err = outfile_open(&view->out, common->output);
	if (err)
		return cannot_write(view, err);
	view->terminal = terminal_style(view->out.fd, common_color(common, view->out.fd),
					&view->style);
	live_init(&view->live, view->out.fd);
	return 0;
}

void conns_view_release(struct conns_view *view)
{
	outfile_release(&view->out);
	strbuf_release(&view->text);
	conns_free(view->conns);
	view->conns = NULL;
}

static bool is_json(const struct conns_view *view)
{
	return view->config->common->json || view->config->common->json_lines;
}

static void render(struct conns_view *view, const struct report *report, struct strbuf *text)
{
	if (is_json(view))
		json_report(report, view->config->common->json ? JSON_DOCUMENT : JSON_LINE, text);
	else
		text_report(report, &view->style, text);
}

/* `last` keeps what is on the terminal and, for text, separates the totals from the intervals. */
static int show(struct conns_view *view, struct report *report, bool last)
{
	struct strbuf page = STRBUF_INIT(REPORT_MEMORY_MAX);
	int err;

	strbuf_reset(&view->text);
	if (view->terminal && !is_json(view) && !last) {
		render(view, report, &page);
		live_draw(&view->live, strbuf_str(&page), &view->text);
	} else {
		if (!is_json(view) && view->intervals && !view->config->options->follows)
			strbuf_add(&view->text, "\n", 1);
		render(view, report, &view->text);
	}
	err = report_error(report) ? report_error(report) :
	      page.error ? page.error : view->text.error;
	if (!err)
		err = outfile_write(&view->out, strbuf_str(&view->text), view->text.len);
	strbuf_release(&page);
	return err ? cannot_write(view, err) : 0;
}

/* Whoever follows one connection gets all its intervals at the end. */
static int show_interval(struct conns_view *view)
{
	struct report report;
	int err;

	if (view->config->common->json ||
	    (view->config->options->follows && !view->config->common->json_lines))
		return 0;
	report_init(&report, &view->who);
	err = conns_report(view->conns, CONNS_INTERVAL, &report);
	if (!err)
		err = show(view, &report, false);
	report_release(&report);
	return err;
}

static void take_facts(struct conns_view *view, const struct event_block *block)
{
	const char *key, *value;
	struct event event;
	size_t at = 0;

	while (!block->record_size && event_block_next(block, &at, &event)) {
		if (event.kind != EV_FACT)
			continue;
		event_fact_get(&event, &key, &value);
		run_facts_take(&view->facts, key, value);
	}
	view->who = run_facts_provenance(&view->facts, "conns", CONNS_SCHEMA);
}

int conns_view_take(void *ctx, const struct event_block *block)
{
	struct conns_view *view = ctx;
	size_t at = 0;
	int err;

	take_facts(view, block);
	while ((err = conns_feed_block(view->conns, block, &at)) == CONNS_CLOSED) {
		err = show_interval(view);
		if (err)
			return err;
		if (++view->intervals == view->config->count)
			return 1;
	}
	return err;
}

/* One interval shown is its own total; JSON lines are intervals only. */
static bool totals_are_due(const struct conns_view *view)
{
	if (view->config->common->json_lines)
		return false;
	return view->config->common->json || view->config->options->follows ||
	       view->intervals != 1;
}

/* What only came out at the end has no place in JSON lines, which are intervals. */
static void warn_of_reasons(const struct report *report)
{
	for (const struct row *row = report->reasons->first; row; row = row->next)
		log_warning("%s: %s%s%s", report->verdict, row->cells[1].string,
			    row->cells[2].type == VALUE_STRING ? ": " : "",
			    row->cells[2].type == VALUE_STRING ? row->cells[2].string : "");
}

int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error)
{
	const bool late = (damage && damage->reasons) || record_error;
	const bool lines = view->config->common->json_lines;
	struct report report;
	int err, code;

	if (damage)
		conns_set_damage(view->conns, damage);
	report_init(&report, &view->who);
	err = conns_report(view->conns, CONNS_TOTAL, &report);
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
	else if (err != -ECANCELED)
		cannot_write(view, err);
	code = report.partial ? EXIT_PARTIAL : EXIT_OK;
	report_release(&report);
	return err ? EXIT_CANNOT : code;
}
