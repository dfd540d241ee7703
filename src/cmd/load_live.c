/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_live.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/load_agents.h"
#include "cmd/load_backend.h"
#include "cmd/load_progress.h"
#include "cmd/run_facts.h"
#include "event/memsource.h"
#include "load/engine.h"
#include "net/address.h"

#define QUEUE_LIMIT (4UL << 20)
#define WAIT_NS (100 * NS_PER_MS)
#define START_DELAY_NS (10 * NS_PER_MS)

struct live_run {
	const struct load_live *live;
	struct load_backend backend;
	struct event_memsource *queue; /* this process's facts, to be recorded and analyzed */
	struct load_progress progress;
	bool stopping; /* the backend was told to send no more requests */
	bool cutting;  /* the backend was told to stop waiting for replies */
};

/* ---- an engine as backend ---- */

static int engine_connect(void *ctx, int stop_fd, struct strbuf *why)
{
	return load_engine_connect(ctx, stop_fd, why);
}

static int engine_start(void *ctx)
{
	return load_engine_start(ctx, (int64_t)(clock_now() + START_DELAY_NS));
}

static int engine_wait(void *ctx, int stop_fd, uint64_t timeout_ns)
{
	return load_engine_wait(ctx, stop_fd, timeout_ns);
}

static void engine_stop(void *ctx)
{
	load_engine_stop(ctx);
}

static void engine_cut(void *ctx)
{
	load_engine_cut(ctx);
}

static void engine_free(void *ctx)
{
	load_engine_free(ctx);
}

static void load_live_log_resolving(const char *name)
{
	log_info("resolving %s ...", name);
}

static int load_live_new_engine(struct load_backend *backend, const struct load_live *live,
				struct strbuf *why)
{
	const struct net_resolving resolving = {
		.stop_fd = live->stop->fd, .slow = load_live_log_resolving,
	};
	struct load_config config = *live->config;
	struct load_engine *engine;
	int err;

	config.resolving = &resolving;
	err = load_engine_new(&engine, &config, why);

	if (err)
		return err;
	*backend = (struct load_backend){
		.ctx = engine, .source = load_engine_source(engine),
		.failure = "cannot open the connections",
		.advice = "",
		.connect = engine_connect, .start = engine_start, .wait = engine_wait,
		.stop = engine_stop, .cut = engine_cut, .free = engine_free,
	};
	return 0;
}

/* ---- the stream ---- */

/*
 * Writes a block of events to the recording. Flushes before and after a block of low-rate events
 * (EV_NONE: facts, ticks) keep these events and the samples in their order. An analysis of the
 * recording thus makes the same decisions at the same events as the live analysis.
 */
static void load_live_record(struct recording *recording, const struct event_block *block)
{
	if (block->kind == EV_NONE)
		recording_flush(recording);
	recording_copy(recording, block);
	if (block->kind == EV_NONE)
		recording_flush(recording);
}

/* Records and analyzes available events. Returns 1 if the run may end, 0, or -errno. */
static int load_live_drain(struct live_run *run, struct event_source *source)
{
	struct event_block block;
	int err, decided = 0;

	while ((err = event_source_next(source, &block)) > 0) {
		load_live_record(run->live->recording, &block);
		load_progress_add(&run->progress, &run->live->consumer->setup, &block);
		err = load_consumer_add(run->live->consumer, &block);
		if (err < 0)
			return err;
		decided |= err == LOAD_DECIDED;
	}
	return err ? err : decided;
}

static int load_live_drain_facts(struct live_run *run)
{
	return load_live_drain(run, event_memsource_source(run->queue));
}

static int load_live_put_facts(struct live_run *run)
{
	struct event_sink *sink = event_memsource_sink(run->queue);
	struct strbuf why = STRBUF_INIT(1024);
	struct load_setup setup;
	uint64_t now = clock_now();
	int err = load_setup_init(&setup, run->live->config, run->live->analysis, &why);

	if (!err)
		err = run_facts_put(sink, now);
	if (!err)
		err = run_facts_put_host(sink, now);
	if (!err)
		err = load_setup_put(&setup, sink, now);
	strbuf_release(&why);
	return err ? err : load_live_drain_facts(run);
}

/* Puts the interruption into the event stream as a fact, so that the analysis learns of it. */
static int load_live_interrupt(struct live_run *run)
{
	int err = event_put_fact(event_memsource_sink(run->queue), clock_now(),
				 LOAD_FACT_INTERRUPTED, "1");

	return err ? err : load_live_drain_facts(run);
}

/* ---- main loop ---- */

static void stop_sending(struct live_run *run)
{
	if (!run->stopping)
		run->backend.stop(run->backend.ctx);
	run->stopping = true;
}

static void stop_waiting(struct live_run *run)
{
	if (!run->cutting)
		run->backend.cut(run->backend.ctx);
	run->cutting = true;
}

/* Checks for signals: the first stops sending, the second stops waiting for replies. */
static int load_live_handle_signals(struct live_run *run)
{
	struct stop *stop = run->live->stop;

	if (!stop_requested(stop))
		return 0;
	if (run->live->consumer->interrupted) {
		if (stop_insisted(stop))
			stop_waiting(run);
		return 0;
	}
	stop_sending(run);
	return load_live_interrupt(run);
}

static int load_live_loop(struct live_run *run)
{
	struct load_consumer *consumer = run->live->consumer;
	int err = 0;

	while (!err && !load_consumer_ended(consumer)) {
		err = run->backend.wait(run->backend.ctx, run->live->stop->fd, WAIT_NS);
		if (err < 0 && err != -EINTR)
			return err;
		err = load_live_drain(run, run->backend.source);
		if (err == 1)
			stop_sending(run);
		keys_quit(run->live->keys);
		if (err >= 0)
			err = load_live_handle_signals(run);
		load_progress_show(&run->progress, consumer, run->live->label);
	}
	return err;
}

/* ---- start and end of a run ---- */

static int load_live_refuse(int err, const struct strbuf *why)
{
	log_error("%s", why->len ? strbuf_str(why) : strerror(-err));
	return err == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}

static int load_live_new_backend(struct load_backend *backend, const struct load_live *live,
				 struct strbuf *why)
{
	if (load_hosts_asked(&live->options->hosts))
		return load_agents_new(backend, live->options, live->config, why);
	return load_live_new_engine(backend, live, why);
}

/* Makes, connects and starts the backend. Returns 0, or an exit code after a message. */
static int load_live_begin(struct live_run *run)
{
	struct strbuf why = STRBUF_INIT(16384);
	int err = load_live_new_backend(&run->backend, run->live, &why), code = 0;

	if (err == -EINTR && stop_requested(run->live->stop)) {
		err = load_live_interrupt(run);
		code = err ? load_live_refuse(err, &why) : 0;
		goto out;
	}
	if (err) {
		code = load_live_refuse(err, &why);
		goto out;
	}
	err = load_live_drain(run, run->backend.source);
	if (!err)
		err = run->backend.connect(run->backend.ctx, run->live->stop->fd, &why);
	if (err == -EINTR && stop_requested(run->live->stop))
		err = load_live_interrupt(run);
	else if (!err)
		err = run->backend.start(run->backend.ctx);
	if (err) {
		log_error("%s: %s%s", run->backend.failure,
			  why.len ? strbuf_str(&why) : strerror(-err), run->backend.advice);
		code = EXIT_CANNOT;
	}
out:
	strbuf_release(&why);
	return code;
}

static int load_live_measure(struct live_run *run)
{
	struct load_consumer *consumer = run->live->consumer;
	struct strbuf why = STRBUF_INIT(1024);
	int code, err = load_live_put_facts(run);

	code = err ? 0 : load_live_begin(run);
	if (code)
		return code;
	code = EXIT_CANNOT;
	recording_begin(run->live->recording);
	if (!err && !consumer->interrupted) {
		if (!run->live->label)
			log_info("measuring");
		err = load_live_loop(run);
	}
	load_progress_end(&run->progress);
	if (!err)
		err = load_consumer_finish(consumer);
	if (err)
		log_error("the measurement failed: %s", strerror(-err));
	else if (load_analysis_shut_out(consumer->analysis, &why))
		log_error("nothing was measured: %s", strbuf_str(&why));
	else
		code = EXIT_OK;
	strbuf_release(&why);
	return code;
}

int load_live_run(const struct load_live *live)
{
	struct live_run run = { .live = live };
	int err = event_memsource_new(&run.queue, QUEUE_LIMIT), code;

	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_CANNOT;
	}
	load_progress_begin(&run.progress, live->quiet);
	code = load_live_measure(&run);
	load_progress_end(&run.progress);
	if (run.backend.free)
		run.backend.free(run.backend.ctx);
	event_memsource_free(run.queue);
	return code;
}
