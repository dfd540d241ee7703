/* SPDX-License-Identifier: Apache-2.0 */
/* From function_graph's pages of one CPU to calls and returns, and to what is missing between. */
#ifndef HOSTLAT_TRACE_CALLS_H
#define HOSTLAT_TRACE_CALLS_H

#include "trace/format.h"

enum trace_call_what {
	TRACE_CALL,
	TRACE_RETURN,
	TRACE_LOST,	/* from here on, events are missing ... */
	TRACE_AGAIN,	/* ... up to here; the next event is one of these two's only if both come */
};

struct trace_call {
	uint64_t time;
	uint64_t address;	/* of the function; 0 of TRACE_LOST and TRACE_AGAIN */
	enum trace_call_what what;
};

/* Of one CPU, from its first page on. Begin with `last` = when tracing began. */
struct trace_calls {
	uint64_t last;	/* time of the last event */
	bool broken;	/* ... after which a page made no sense */
};

/* Times never go back: one that would, and all that can't be read, is TRACE_LOST. */
void trace_calls_page(struct trace_calls *calls, const struct trace_format *format,
		      const void *bytes, size_t size,
		      void (*put)(void *ctx, const struct trace_call *call), void *ctx);

#endif
