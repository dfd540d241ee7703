/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_view.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "output/json.h"

static int conns_view_report(void *analysis, enum interval_span span, struct report *report)
{
	return conns_report(analysis, span == SPAN_TOTAL ? CONNS_TOTAL : CONNS_INTERVAL, report);
}

int conns_view_open(struct conns_view *view, const struct common_options *common,
		    const struct conns_options *options, uint64_t count)
{
	*view = (struct conns_view){
		.config = {
			.common = common, .command = "conns", .schema = CONNS_SCHEMA,
			.count = count, .totals_only = options->totals_only,
			.report = conns_view_report,
		},
		.conns = conns_new(options), .lines = STRBUF_INIT(REPORT_MEMORY_MAX),
	};
	return interval_view_open(&view->shown, &view->config, view->conns);
}

void conns_view_release(struct conns_view *view)
{
	interval_view_release(&view->shown);
	strbuf_release(&view->lines);
	conns_metrics_release(&view->metrics);
	conns_free(view->conns);
	view->conns = NULL;
}

static void conns_view_add_facts(struct conns_view *view, const struct event_block *block)
{
	struct event event;
	size_t at = 0;

	while (!block->record_size && event_block_next(block, &at, &event))
		interval_view_fact(&view->shown, &event);
}

/* ---- log of calls: one line of JSON per call ---- */

static int conns_view_add_call(struct conns_view *view, const struct event_call *call)
{
	struct report report;
	int err;

	report_init(&report, &view->shown.who);
	if (conns_report_call(view->conns, call, view->recorded, &report))
		json_report(&report, JSON_LINE, &view->lines);
	err = report_error(&report);
	report_release(&report);
	return err ? err : view->lines.error;
}

static int conns_view_show_calls(struct conns_view *view, const struct event_block *block)
{
	struct event_call call;
	int err = 0;

	strbuf_reset(&view->lines);
	for (uint32_t i = 0; i < block->count && !err; i++) {
		event_block_copy(block, i, &call, sizeof(call));
		err = conns_view_add_call(view, &call);
	}
	if (!err)
		return interval_view_write(&view->shown, &view->lines);
	log_error("cannot write the result: %s", strerror(-err));
	return -ECANCELED; /* already logged */
}

int conns_view_choose(void *ctx, int (*chosen)(void *to, uint64_t cookie), void *to)
{
	struct conns_view *view = ctx;

	return conns_choose_for_log(view->conns, chosen, to);
}

int conns_view_feed(void *ctx, const struct event_block *block)
{
	struct conns_view *view = ctx;
	size_t at = 0;
	int err;

	if (block->kind == EV_CALL && view->config.common->json_lines)
		return conns_view_show_calls(view, block);
	conns_view_add_facts(view, block);
	while ((err = conns_feed_block(view->conns, block, &at)) == CONNS_CLOSED) {
		err = conns_metrics_interval(&view->metrics, view->conns);
		if (!err)
			err = interval_view_closed(&view->shown);
		if (err)
			return err;
	}
	return err;
}

int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error)
{
	const bool damaged = damage && damage->reasons;
	int code, err;

	if (damage)
		conns_set_damage(view->conns, damage);
	code = interval_view_close(&view->shown, damaged, record_error);
	err = conns_metrics_close(&view->metrics, view->conns, !damaged);
	return err ? EXIT_CANNOT : code;
}
