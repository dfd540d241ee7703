/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes the load of a live run: a source of events that can be waited for and stopped, be it an
 * engine in this process or a coordinator of agents.
 */
#ifndef HOSTLAT_CMD_LOAD_BACKEND_H
#define HOSTLAT_CMD_LOAD_BACKEND_H

#include "base/strbuf.h"
#include "event/source.h"

struct load_backend {
	void *ctx;
	struct event_source *source;
	const char *failure; /* what to say when it can't connect, before and ... */
	const char *advice;  /* ... after the reason */
	/* As those of load/engine.h; `why` is a sentence for the user. */
	int (*connect)(void *ctx, int stop_fd, struct strbuf *why);
	int (*start)(void *ctx);
	int (*wait)(void *ctx, int stop_fd, uint64_t timeout_ns);
	void (*stop)(void *ctx);
	void (*cut)(void *ctx);
	void (*free)(void *ctx);
};

#endif
