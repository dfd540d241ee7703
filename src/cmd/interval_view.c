/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/interval_view.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "output/json.h"
#include "output/text.h"

static int interval_view_write_failed(const struct interval_view *view, int err)
{
	log_error("cannot write the result to %s: %s",
		  view->config->common->output ? view->config->common->output : "standard output",
		  folder_strerror(err));
	return -ECANCELED; /* already logged */
}

int interval_view_write(struct interval_view *view, const struct strbuf *text)
{
	int err = outfile_write(&view->out, strbuf_str(text), text->len);

	view->reader_gone = err == -EPIPE;
	if (view->reader_gone)
		return 1;
	return err ? interval_view_write_failed(view, err) : 0;
}

static bool interval_view_is_json(const struct interval_view *view)
{
	return view->config->common->json || view->config->common->json_lines;
}

static void interval_view_feed_facts(struct interval_view *view)
{
	view->who = run_facts_provenance(&view->facts, view->config->command,
					 view->config->schema);
}

int interval_view_open(struct interval_view *view, const struct interval_view_config *config,
		       void *analysis)
{
	const struct common_options *common = config->common;
	int err;

	*view = (struct interval_view){
		.config = config, .analysis = analysis, .text = STRBUF_INIT(REPORT_MEMORY_MAX),
	};
	interval_view_feed_facts(view);
	if (!analysis) {
		log_error("out of memory");
		return -ENOMEM;
	}
	err = outfile_open(&view->out, common->output);
	if (err)
		return interval_view_write_failed(view, err);
	view->terminal = terminal_style(view->out.fd, common_color(common, view->out.fd),
					&view->style);
	view->style.findings_first = view->terminal && config->findings_first;
	live_init(&view->live, view->out.fd, view->style.utf8);
	return 0;
}

void interval_view_release(struct interval_view *view)
{
	if (view->any)
		report_release(&view->kept);
	keys_close(&view->keys);
	outfile_release(&view->out);
	strbuf_release(&view->text);
}

void interval_view_fact(struct interval_view *view, const struct event *event)
{
	const char *key, *value;

	if (event->kind != EV_FACT)
		return;
	event_fact_get(event, &key, &value);
	run_facts_feed(&view->facts, key, value);
	interval_view_feed_facts(view);
}

/* ---- output of intervals and totals ---- */

static void interval_view_render(struct interval_view *view, const struct report *report,
				 struct strbuf *text)
{
	if (interval_view_is_json(view))
		json_report(report, view->config->common->json ? JSON_DOCUMENT : JSON_LINE, text);
	else
		text_report(report, &view->style, text);
}

/* Writes view->text, which has the report. Returns 0, 1 or -ECANCELED as interval_view_write(). */
static int interval_view_put(struct interval_view *view, const struct report *report)
{
	int err = report_error(report) ? report_error(report) : view->text.error;

	if (!err)
		err = strbuf_fetch_shortage();
	return err ? interval_view_write_failed(view, err) : interval_view_write(view, &view->text);
}

/* Shows a report below the earlier ones. */
static int interval_view_show(struct interval_view *view, struct report *report)
{
	int err;

	strbuf_reset(&view->text);
	if (!interval_view_is_json(view) && view->intervals && !view->config->totals_only)
		strbuf_add(&view->text, "\n", 1);
	interval_view_render(view, report, &view->text);
	err = view->text.error;
	/* Publishes the file: others can read its lines during the run, and a kill loses none. */
	if (!err && view->config->common->json_lines)
		err = outfile_publish(&view->out);
	return err ? interval_view_write_failed(view, err) : interval_view_put(view, report);
}

/* ---- intervals that are drawn in place ---- */

static bool interval_view_is_drawn(const struct interval_view *view)
{
	return view->terminal && !interval_view_is_json(view) && !view->config->totals_only;
}

static const char keys_help[] =
	"q      quit, and show the totals\n"
	"space  pause, and go on; measuring continues\n"
	"?      show this help, and go back\n"
	"^Z     stop; fg goes on\n";

/* Draws the last interval, or help, in place of the drawing before. */
static int interval_view_draw(struct interval_view *view, const char *footer)
{
	struct strbuf page = STRBUF_INIT(REPORT_MEMORY_MAX);
	const bool findings_first = view->style.findings_first;
	int err;

	terminal_style(view->out.fd, view->style.color, &view->style); /* the width may be new */
	view->style.findings_first = findings_first;
	if (view->helps)
		strbuf_puts(&page, keys_help);
	else
		interval_view_render(view, &view->kept, &page);
	live_draw(&view->live, strbuf_str(&page), footer, &view->text);
	if (page.error && !view->text.error)
		view->text.error = page.error;
	strbuf_release(&page);
	err = interval_view_put(view, &view->kept);
	strbuf_reset(&view->text);
	return err;
}

/* Draws as interval_view_draw(), with a line about the keys. */
static int interval_view_draw_live(struct interval_view *view)
{
	const char *footer = view->paused ? "paused: space goes on, q quits" :
					    "q quits, space pauses, ? explains";

	return interval_view_draw(view, view->keys.active ? footer : NULL);
}

static int interval_view_draw_interval(struct interval_view *view)
{
	int err;

	if (view->paused || view->helps)
		return 0;
	if (view->any)
		report_release(&view->kept);
	report_init(&view->kept, &view->who);
	view->any = true;
	err = view->config->report(view->analysis, view->config->cumulative ? SPAN_TOTAL :
							 SPAN_INTERVAL, &view->kept);
	strbuf_reset(&view->text);
	return err ? err : interval_view_draw_live(view);
}

void interval_view_take_keys(struct interval_view *view)
{
	int err = interval_view_is_drawn(view) ? keys_open(&view->keys, STDIN_FILENO) : 0;

	if (err) {
		log_warning("keys are not read: %s", strerror(-err));
		keys_close(&view->keys);
	}
}

/* Changes what is drawn. Returns 1 to end the run, -ENOENT if there is nothing to draw, or 0. */
static int interval_view_obey(struct interval_view *view, int key)
{
	switch (key) {
	case 'q':
		return 1;
	case ' ':
		view->paused = !view->paused;
		return 0;
	case '?':
		view->helps = !view->helps;
		return 0;
	case KEYS_RESIZED:
		live_clear(&view->live, &view->text);
		return 0;
	case KEYS_CONTINUED:
		live_keep(&view->live);
		return 0;
	default:
		return -ENOENT;
	}
}

int interval_view_obey_keys(void *of)
{
	struct interval_view *view = of;
	int key, err;

	while ((key = keys_next(&view->keys)) != KEYS_NONE) {
		strbuf_reset(&view->text);
		err = interval_view_obey(view, key);
		if (err == 1)
			return 1;
		if (!err && view->any)
			err = interval_view_draw_live(view);
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

static int interval_view_show_interval(struct interval_view *view)
{
	const struct interval_view_config *c = view->config;
	struct report report;
	int err;

	if (c->common->json || (c->totals_only && !c->common->json_lines))
		return 0;
	if (interval_view_is_drawn(view))
		return interval_view_draw_interval(view);
	report_init(&report, &view->who);
	err = c->report(view->analysis, c->cumulative ? SPAN_TOTAL : SPAN_INTERVAL, &report);
	if (!err)
		err = interval_view_show(view, &report);
	report_release(&report);
	return err;
}

int interval_view_closed(struct interval_view *view)
{
	int err = interval_view_show_interval(view);

	if (err)
		return err;
	return ++view->intervals == view->config->count;
}

/* ---- the end ---- */

/*
 * Returns whether the totals over all intervals are printed. JSON lines have no totals. Text omits
 * totals that only repeat its last output: those of a single interval, or cumulative ones.
 */
static bool interval_view_totals_due(const struct interval_view *view)
{
	const struct interval_view_config *c = view->config;

	if (c->common->json_lines)
		return false;
	if (c->common->json || c->totals_only)
		return true;
	return !c->cumulative && view->intervals != 1;
}

/*
 * Logs as warnings the reasons, known only at the end, why the result is partial. JSON lines cannot
 * contain them: no line describes the whole run.
 */
static void interval_view_warn(const struct report *report)
{
	for (const struct table_row *row = report->reasons->first; row; row = row->next)
		log_warning("%s: %s%s%s", report->verdict, row->cells[1].string,
			    row->cells[2].type == VALUE_STRING ? ": " : "",
			    row->cells[2].type == VALUE_STRING ? row->cells[2].string : "");
}

/* Adds why the recording ended, and a finding if it reached its size limit. */
static void interval_view_end(const struct interval_view *view, struct report *report)
{
	object_add(&report->body, "ended", value_string(view->ended));
	if (!strcmp(view->ended, RECORD_ENDED_FULL))
		report_finding(report, "The recording has ended at its size limit.");
}

/* Leaves the last interval on the screen, without the line about keys. */
static void interval_view_end_drawing(struct interval_view *view)
{
	if (view->any && view->keys.active) {
		view->helps = false;
		strbuf_reset(&view->text);
		interval_view_draw(view, NULL);
	}
	live_keep(&view->live);
}

int interval_view_close(struct interval_view *view, bool damaged, int record_error)
{
	const bool late = damaged || record_error, lines = view->config->common->json_lines;
	struct report report;
	int err, code;

	if (view->reader_gone && !record_error)
		return EXIT_OK;
	report_init(&report, &view->who);
	err = view->config->report(view->analysis, SPAN_TOTAL, &report);
	if (!err && view->ended)
		interval_view_end(view, &report);
	if (!err && record_error)
		report_reason(&report, "recording-incomplete", strerror(-record_error),
			      "the recording could not be written completely");
	if (!err && !view->reader_gone && (interval_view_totals_due(view) || (late && !lines))) {
		interval_view_end_drawing(view);
		err = interval_view_show(view, &report) < 0 ? -ECANCELED : 0;
	} else if (!err && late && !report_error(&report)) {
		interval_view_warn(&report);
	}
	if (!err && !view->reader_gone)
		err = outfile_commit(&view->out);
	if (err && err != -ECANCELED)
		interval_view_write_failed(view, err);
	code = report.partial && (record_error || !view->reader_gone) ? EXIT_PARTIAL : EXIT_OK;
	report_release(&report);
	return err ? EXIT_CANNOT : code;
}
