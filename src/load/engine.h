/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane: threads, connections and the schedule of one agent. An engine is an event source,
 * so the consumer (analysis, recording, or the pipe to a coordinator) cannot tell it from a file.
 *
 * The stream: EV_FACT and EV_FLOW first (a flow when its connection is made), then EV_SAMPLE blocks
 * (core = LOAD_CORE(agent, thread)), EV_NOISE, EV_CLOCK, and every LOAD_TICK_NS one EV_LOAD after
 * all samples that ended before it. The last EV_LOAD has LOAD_FINAL.
 *
 * Everything is allocated before the first packet. All times are CLOCK_MONOTONIC.
 *
 *	err = load_engine_new(&engine, &config, &why);
 *	err = load_engine_connect(engine, stop_fd, &why);      -errno: `why` has the reason
 *	load_engine_start(engine, clock_mono_ns(clock_system()) + 10 * NS_PER_MS);
 *	while (!done) {
 *		load_engine_wait(engine, stop_fd, timeout);
 *		while (event_source_next(source, &block) > 0)
 *			take(&block);
 *	}
 *	load_engine_stop(engine);      stops sending; read events until LOAD_FINAL
 *	load_engine_free(engine);
 */
#ifndef HOSTLAT_LOAD_ENGINE_H
#define HOSTLAT_LOAD_ENGINE_H

#include "base/strbuf.h"
#include "event/source.h"
#include "load/config.h"

struct load_engine;

/*
 * Parses targets, resolves names, allocates memory, makes the schedule. Returns 0, or -errno with a
 * sentence for the user in `why`.
 */
int load_engine_new(struct load_engine **out, const struct load_config *config,
		    struct strbuf *why);

/*
 * Opens all connections (and stores keys with --preload). Returns 0, -EINTR when `stop_fd` becomes
 * readable, or -errno with a sentence in `why`.
 */
int load_engine_connect(struct load_engine *engine, int stop_fd, struct strbuf *why);

/* Starts the threads; the schedule begins at `start_mono_ns`. Returns 0 or -errno. */
int load_engine_start(struct load_engine *engine, int64_t start_mono_ns);

/*
 * Waits for events, the timeout (ns) or `stop_fd`. Returns 1: there are events; 0: timeout; -EINTR:
 * `stop_fd` is readable.
 */
int load_engine_wait(struct load_engine *engine, int stop_fd, uint64_t timeout_ns);

/* Stops sending; replies are awaited for up to drain_ns. Does not block. */
void load_engine_stop(struct load_engine *engine);

/*
 * Stops sending and waiting for replies: outstanding requests are counted as in flight. Does not
 * block.
 */
void load_engine_cut(struct load_engine *engine);

struct event_source *load_engine_source(struct load_engine *engine);

/* Joins the threads, closes all connections. Accepts NULL. */
void load_engine_free(struct load_engine *engine);

#endif
