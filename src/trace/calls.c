/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/calls.h"

struct calls_output {
	struct trace_calls *calls;
	const struct trace_format *format;
	void (*put)(void *ctx, const struct trace_call *call);
	void *ctx;
};

static void calls_put(const struct calls_output *o, uint64_t time, uint64_t address,
		      enum trace_call_what what)
{
	o->put(o->ctx, &(struct trace_call){ .time = time, .address = address, .what = what });
	o->calls->last = time;
}

/* Reads an event. Returns false if it is malformed; events of other kinds are ignored. */
static bool calls_read_event(const struct calls_output *o, const struct trace_event *event)
{
	const struct trace_format *f = o->format;
	uint64_t type, address;
	bool entry;

	if (event->time < o->calls->last ||
	    !trace_field_get(&f->type, event->data, event->size, &type))
		return false;
	entry = type == f->entry;
	if (!entry && type != f->exit)
		return true;
	if (!trace_field_get(entry ? &f->entry_func : &f->exit_func, event->data, event->size,
			     &address))
		return false;
	calls_put(o, event->time, address, entry ? TRACE_CALL : TRACE_RETURN);
	return true;
}

void trace_calls_page(struct trace_calls *calls, const struct trace_format *format,
		      const void *bytes, size_t size,
		      void (*put_one)(void *ctx, const struct trace_call *call), void *ctx)
{
	const struct calls_output o = { calls, format, put_one, ctx };
	struct trace_event event;
	struct trace_page page;
	int n = 0;

	if (trace_page_open(&page, &format->page, bytes, size)) {
		calls->broken = true;
		return;
	}
	if (page.missed || calls->broken) {
		calls_put(&o, calls->last, 0, TRACE_LOST);
		calls_put(&o, page.time > calls->last ? page.time : calls->last, 0, TRACE_AGAIN);
		calls->broken = false;
	}
	while (!calls->broken && (n = trace_page_next(&page, &event)) > 0)
		calls->broken = !calls_read_event(&o, &event);
	calls->broken |= n < 0;
}
