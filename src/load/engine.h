/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane: threads, connections and the schedule of one agent. It is an event source: a
 * pull gives what happened since the last one, and the consumer (analysis, recording, or the pipe
 * to a coordinator) never learns that it is live.
 *
 * The stream: EV_FACT and EV_FLOW first (a flow when its connection is made), then EV_SAMPLE
 * blocks (core = LOAD_CORE(agent, thread)), EV_NOISE, EV_CLOCK, and every LOAD_TICK_NS one EV_LOAD
 * after all samples that ended before it. The last EV_LOAD has LOAD_FINAL.
 *
 * Everything is allocated before the first packet. All times are CLOCK_MONOTONIC.
 *
 *	err = load_engine_new(&engine, &config, &why);
 *	err = load_engine_connect(engine, stop_fd, &why);      -ECONNREFUSED ...: why says it
 *	load_engine_start(engine, clock_mono_ns(clock_system()) + 10 * NS_PER_MS);
 *	while (!done) {
 *		load_engine_wait(engine, stop_fd, timeout);
 *		while (event_source_next(source, &block) > 0)
 *			take(&block);
 *	}
 *	load_engine_stop(engine);      sends nothing more, drains; pull until LOAD_FINAL
 *	load_engine_free(engine);
 */
#ifndef HOSTLAT_LOAD_ENGINE_H
#define HOSTLAT_LOAD_ENGINE_H

#include "base/strbuf.h"
#include "event/source.h"
#include "load/config.h"

struct load_engine;

/* Parses, resolves, allocates, makes the schedule. On failure `why` is a sentence for the user. */
int load_engine_new(struct load_engine **out, const struct load_config *config,
		    struct strbuf *why);

/* Opens every connection (and preloads). -EINTR when `stop_fd` became readable. */
int load_engine_connect(struct load_engine *engine, int stop_fd, struct strbuf *why);

/* The schedule begins at that time. Starts the threads. Returns 0 or -errno. */
int load_engine_start(struct load_engine *engine, int64_t start_mono_ns);

/*
 * Until something is to be pulled, the timeout (ns) has passed or `stop_fd` is readable. Returns 1
 * when there is something, 0 at the timeout, -EINTR when stopped.
 */
int load_engine_wait(struct load_engine *engine, int stop_fd, uint64_t timeout_ns);

/* No further request is sent; what is in flight is waited for until drain_ns. Doesn't block. */
void load_engine_stop(struct load_engine *engine);

/* And nothing is waited for: what is in flight is counted as that. Doesn't block. */
void load_engine_cut(struct load_engine *engine);

struct event_source *load_engine_source(struct load_engine *engine);

/* Joins the threads, closes all. Accepts NULL. */
void load_engine_free(struct load_engine *engine);

#endif
