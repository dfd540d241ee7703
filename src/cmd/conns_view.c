/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_view.h"

static int report(void *analysis, enum interval_span span, struct report *report)
{
	return conns_report(analysis, span == SPAN_TOTAL ? CONNS_TOTAL : CONNS_INTERVAL, report);
}

int conns_view_open(struct conns_view *view, const struct common_options *common,
		    const struct conns_options *options, uint64_t count)
{
	*view = (struct conns_view){
		.config = {
			.common = common, .command = "conns", .schema = CONNS_SCHEMA,
			.count = count, .totals_only = options->totals_only, .report = report,
		},
		.conns = conns_new(options),
	};
	return interval_view_open(&view->shown, &view->config, view->conns);
}

void conns_view_release(struct conns_view *view)
{
	interval_view_release(&view->shown);
	conns_free(view->conns);
	view->conns = NULL;
}

static void take_facts(struct conns_view *view, const struct event_block *block)
{
	struct event event;
	size_t at = 0;

	while (!block->record_size && event_block_next(block, &at, &event))
		interval_view_fact(&view->shown, &event);
}

int conns_view_take(void *ctx, const struct event_block *block)
{
	struct conns_view *view = ctx;
	size_t at = 0;
	int err;

	take_facts(view, block);
	while ((err = conns_feed_block(view->conns, block, &at)) == CONNS_CLOSED) {
		err = interval_view_closed(&view->shown);
		if (err)
			return err;
	}
	return err;
}

int conns_view_close(struct conns_view *view, const struct event_damage *damage, int record_error)
{
	if (damage)
		conns_set_damage(view->conns, damage);
	return interval_view_close(&view->shown, damage && damage->reasons, record_error);
}
