/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend of a live run generates the load and is an event source: an engine in this process,
 * or a coordinator of agents.
 */
#ifndef HOSTLAT_CMD_LOAD_BACKEND_H
#define HOSTLAT_CMD_LOAD_BACKEND_H

#include "base/strbuf.h"
#include "event/source.h"

struct load_backend {
	void *ctx;
	struct event_source *source;
	const char *failure; /* error message if connecting fails */
	const char *advice;  /* text appended to `failure` and the reason of the failure */
	/*
	 * Operations on `ctx`, with the semantics of load_engine_connect(), load_engine_start()
	 * etc. (load/engine.h). After an error, `why` has a sentence for the user.
	 */
	int (*connect)(void *ctx, int stop_fd, struct strbuf *why);
	int (*start)(void *ctx);
	int (*wait)(void *ctx, int stop_fd, uint64_t timeout_ns);
	void (*stop)(void *ctx);
	void (*cut)(void *ctx);
	void (*free)(void *ctx);
};

#endif
