/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch_view.h"

#include <errno.h>

static int watch_view_report(void *analysis, enum interval_span span, struct report *report)
{
	return watch_report(analysis, span == SPAN_TOTAL ? WATCH_TOTAL : WATCH_INTERVAL, report);
}

int watch_view_open(struct watch_view *view, const struct interval_view_config *config,
		    uint64_t stages)
{
	*view = (struct watch_view){ .config = *config, .watch = watch_new(stages) };
	view->config.schema = WATCH_SCHEMA;
	view->config.report = watch_view_report;
	return interval_view_open(&view->shown, &view->config, view->watch);
}

void watch_view_release(struct watch_view *view)
{
	interval_view_release(&view->shown);
	watch_free(view->watch);
	view->watch = NULL;
}

int watch_view_feed(void *ctx, const struct event_block *block)
{
	struct watch_view *view = ctx;
	struct event event;
	size_t at = 0;
	int err;

	while (event_block_next(block, &at, &event)) {
		interval_view_fact(&view->shown, &event);
		err = watch_feed(view->watch, &event);
		if (err < 0 && err != -EBADMSG)
			return err;
		if (err == WATCH_CLOSED)
			err = interval_view_closed(&view->shown);
		else
			err = 0;
		if (err)
			return err;
	}
	return 0;
}

int watch_view_close(struct watch_view *view, const struct event_damage *damage, int record_error)
{
	if (damage)
		watch_set_damage(view->watch, damage);
	return interval_view_close(&view->shown, damage && damage->reasons, record_error);
}
