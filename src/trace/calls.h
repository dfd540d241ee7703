/* SPDX-License-Identifier: Apache-2.0 */
/* Converts function_graph's pages of one CPU into calls, returns and losses between them. */
#ifndef HOSTLAT_TRACE_CALLS_H
#define HOSTLAT_TRACE_CALLS_H

#include "trace/format.h"

enum trace_call_what {
	TRACE_CALL,
	TRACE_RETURN,
	TRACE_LOST,	/* events are missing from here on */
	TRACE_AGAIN,	/* events are complete again from this time on */
};

struct trace_call {
	uint64_t time;
	uint64_t address;	/* address of the function; 0 for TRACE_LOST and TRACE_AGAIN */
	enum trace_call_what what;
};

/* Parser state of one CPU, from its first page on. Set `last` to the time when tracing began. */
struct trace_calls {
	uint64_t last;	/* time of the last event */
	bool broken;	/* the previous page was not readable */
};

/* Converts a page. Puts losses where events are unreadable or their time decreases. */
void trace_calls_page(struct trace_calls *calls, const struct trace_format *format,
		      const void *bytes, size_t size,
		      void (*put)(void *ctx, const struct trace_call *call), void *ctx);

#endif
