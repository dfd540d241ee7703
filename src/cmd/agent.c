/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat agent: generates load for `hostlat load`, which starts the agent on any host and controls
 * it through stdin and stdout (load/agent.h). Users do not run the agent themselves.
 *
 * The agent ends when stdin ends or is silent for AGENT_SILENCE_NS. A second thread watches for
 * both: the main thread may be blocked in a write that nobody reads.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/opt_parse.h"
#include "base/opt_words.h"
#include "base/parse.h"
#include "base/vec.h"
#include "base/version.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/load_agents.h"
#include "cmd/load_options.h"
#include "cmd/run_facts.h"
#include "event/writer.h"
#include "load/agent.h"
#include "load/engine.h"
#include "load/scheduling.h"

#define WAIT_NS (1000 * NS_PER_MS)
#define WATCH_MS 500
#define PATIENCE_MS 1000
#define WORDS_MAX 256
#define BUSY UINT64_MAX

struct agent_arguments VEC_OF(char *);

struct agent {
	char line[AGENT_LINE_MAX];
	size_t len;
	struct agent_arguments words;
	struct load_agent_options options;
	struct load_engine *engine;
	struct event_writer *writer;
	bool connected, started, done;
};

/*
 * Time of the last byte from the controlling process; BUSY while a command is executed: meanwhile
 * that process may be silent.
 */
static uint64_t heard_ns;

static void agent_set_heard(uint64_t ns)
{
	__atomic_store_n(&heard_ns, ns, __ATOMIC_RELAXED);
}

/* ---- watching the controlling process ---- */

static bool agent_is_silent(void)
{
	const uint64_t heard = __atomic_load_n(&heard_ns, __ATOMIC_RELAXED);

	return heard != BUSY && clock_now() > heard + AGENT_SILENCE_NS;
}

static void *agent_watch(void *unused)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLRDHUP };

	(void)unused;
	while (poll(&fd, 1, WATCH_MS) <= 0 && !agent_is_silent())
		;
	/* Give the main thread time to end the run before the process exits. */
	poll(NULL, 0, PATIENCE_MS);
	_exit(EXIT_CANNOT);
}

static int agent_watch_start(void)
{
	pthread_t thread;
	int err;

	agent_set_heard(clock_now());
	err = -pthread_create(&thread, NULL, agent_watch, NULL);
	return err ? err : -pthread_detach(thread);
}

/* ---- events to the controlling process ---- */

static int agent_put_fact(struct agent *a, const char *key, const char *value)
{
	int err = event_put_fact(event_writer_sink(a->writer), clock_now(), key, value);

	return err ? err : event_writer_flush(a->writer);
}

/*
 * Ends the run after an error and sends the reason as an event, the fact AGENT_ERROR. The
 * controlling process logs this reason.
 */
static int agent_fail(struct agent *a, int err, const struct strbuf *why)
{
	a->done = true;
	return agent_put_fact(a, AGENT_ERROR, why->len ? strbuf_str(why) : strerror(-err));
}

static int agent_put_events(struct agent *a)
{
	struct event_source *source = load_engine_source(a->engine);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		err = event_writer_copy(a->writer, &block);
		if (!err && !block.record_size)
			err = event_writer_flush(a->writer);
		if (err)
			return err;
	}
	return err;
}

/* ---- commands from the controlling process ---- */

static int agent_add_argument(struct agent *a, const char *word)
{
	char *copy = strdup(word);
	int err = copy ? vec_push(&a->words, opt_words_unescape(copy)) : -ENOMEM;

	if (err)
		free(copy);
	return err;
}

static int agent_parse_arguments(struct agent *a, struct load_config *config, struct strbuf *why)
{
	struct load_analysis_config analysis;
	int ret = opt_parse(load_agent_option_rows, &a->options, (int)a->words.len,
			    a->words.items, why);

	if (ret == OPT_HELP)
		strbuf_puts(why, "agents have no --help");
	if (ret != OPT_PARSED)
		return -EINVAL;
	ret = load_options_check(&a->options.load, false, why);
	if (!ret)
		ret = load_options_config(&a->options.load, a->options.load.rate, 0, config,
					  &analysis, why);
	config->role = a->options.role;
	config->bind_any = true;
	return ret;
}

static int agent_put_host_facts(struct agent *a)
{
	struct event_sink *sink = event_writer_sink(a->writer);
	int err = run_facts_put(sink, clock_now());

	return err ? err : run_facts_put_host(sink, clock_now());
}

/* Sends the priority that the threads are granted, and the one that they are to have. */
static int agent_put_priority(struct agent *a, const struct load_config *config)
{
	const uint32_t asked = scheduling_wanted(a->options.load.threads.priority, config->spin);
	char text[64];

	snprintf(text, sizeof(text), "%s %s", scheduling_priorities[config->priority],
		 scheduling_priorities[asked]);
	return agent_put_fact(a, AGENT_PRIORITY, text);
}

static int agent_make_engine(struct agent *a, struct strbuf *why)
{
	struct load_config config;
	int err = a->engine ? -EALREADY : agent_parse_arguments(a, &config, why);

	if (!err)
		err = load_engine_new(&a->engine, &config, why);
	if (!err)
		err = agent_put_host_facts(a);
	if (!err)
		err = agent_put_priority(a, &config);
	return err ? agent_fail(a, err, why) : agent_put_fact(a, AGENT_STATE, AGENT_MADE);
}

/* Opens the run's connections. Stops early at the next line from stdin, or at the end of stdin. */
static int agent_connect(struct agent *a, struct strbuf *why)
{
	int err = a->engine && !a->connected ? 0 : -EPROTO;

	if (!err)
		err = load_engine_connect(a->engine, STDIN_FILENO, why);
	if (err == -EINTR)
		return 0;
	if (err)
		return agent_fail(a, err, why);
	a->connected = true;
	err = agent_put_events(a);
	return err ? err : agent_put_fact(a, AGENT_STATE, AGENT_CONNECTED);
}

static int agent_start_load(struct agent *a, const char *word, struct strbuf *why)
{
	uint64_t at;
	int err = a->connected && !a->started ? 0 : -EPROTO;

	if (!err && (parse_u64(word, &at) || at > INT64_MAX))
		err = -EINVAL;
	if (!err)
		err = load_engine_start(a->engine, (int64_t)at);
	a->started = !err;
	return err ? agent_fail(a, err, why) : 0;
}

static int agent_stop_load(struct agent *a, void (*how)(struct load_engine *engine))
{
	if (a->started)
		how(a->engine);
	else
		a->done = true;
	return 0;
}

static int agent_set_variable(const char *word)
{
	char name[AGENT_LINE_MAX];
	const size_t size = strcspn(word, "=");

	if (!word[size] || !size)
		return -EPROTO;
	memcpy(name, word, size);
	name[size] = '\0';
	return setenv(name, word + size + 1, 1) ? -errno : 0;
}

static int agent_do_command(struct agent *a, const char *command, const char *word,
			    struct strbuf *why)
{
	if (!strcmp(command, "arg"))
		return agent_add_argument(a, word);
	if (!strcmp(command, "env"))
		return agent_set_variable(word);
	if (!strcmp(command, "make"))
		return agent_make_engine(a, why);
	if (!strcmp(command, "clock"))
		return agent_put_fact(a, AGENT_CLOCK, word);
	if (!strcmp(command, "connect"))
		return agent_connect(a, why);
	if (!strcmp(command, "start"))
		return agent_start_load(a, word, why);
	if (!strcmp(command, "stop"))
		return agent_stop_load(a, load_engine_stop);
	if (!strcmp(command, "cut"))
		return agent_stop_load(a, load_engine_cut);
	strbuf_printf(why, "it does not know the command '%s': its version of hostlat may differ",
		      command);
	return agent_fail(a, -EPROTO, why);
}

static int agent_read_line(struct agent *a, char *line)
{
	struct strbuf why = STRBUF_INIT(4096);
	char *word = strchr(line, ' ');
	int err;

	if (word)
		*word++ = '\0';
	agent_set_heard(BUSY);
	err = agent_do_command(a, line, word ? word : "", &why);
	agent_set_heard(clock_now());
	strbuf_release(&why);
	return err;
}

static int agent_read_lines(struct agent *a)
{
	char *from = a->line, *end;
	int err = 0;

	while (!err && !a->done && (end = memchr(from, '\n', a->len - (from - a->line)))) {
		*end = '\0';
		err = agent_read_line(a, from);
		from = end + 1;
	}
	a->len -= from - a->line;
	memmove(a->line, from, a->len);
	return err;
}

static int agent_read_stdin(struct agent *a)
{
	ssize_t n;

	if (a->len == sizeof(a->line))
		return -E2BIG;
	n = read(STDIN_FILENO, a->line + a->len, sizeof(a->line) - a->len);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		return -errno;
	a->done |= n == 0;
	a->len += n > 0 ? n : 0;
	return agent_read_lines(a);
}

/* ---- main loop ---- */

static int agent_wait_stdin(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, -1) < 0 && errno != EINTR ? -errno : -EINTR;
}

static int agent_run_loop(struct agent *a)
{
	int err = agent_put_fact(a, AGENT_VERSION, hostlat_version());

	while (!err && !a->done) {
		err = a->started ? load_engine_wait(a->engine, STDIN_FILENO, WAIT_NS)
				 : agent_wait_stdin();
		if (err == -EINTR)
			err = agent_read_stdin(a);
		if (err >= 0 && a->started)
			err = agent_put_events(a);
	}
	return err;
}

static int cmd_agent_run(const void *unused)
{
	const struct event_writer_options options = {
		.started_ns = clock_real_ns(clock_system()),
	};
	struct agent a = { 0 };
	int err;

	(void)unused;
	privilege_keep(LOAD_PRIVILEGES);
	vec_init(&a.words, WORDS_MAX);
	signal(SIGPIPE, SIG_IGN);
	err = agent_watch_start();
	if (!err)
		err = event_writer_new(&a.writer, STDOUT_FILENO, &options);
	if (!err)
		err = agent_run_loop(&a);
	if (err && err != -EPIPE)
		log_error("agent: %s", strerror(-err));
	load_engine_free(a.engine);
	event_writer_free(a.writer);
	vec_for_each(&a.words, word)
		free(*word);
	vec_release(&a.words);
	return err ? EXIT_CANNOT : EXIT_OK;
}

static const struct opt agent_options[] = { OPT_END };

const struct command cmd_agent = {
	.name = "agent",
	.summary = "generate load on behalf of hostlat load on another host",
	.options = agent_options,
	.config_size = 1,
	.hidden = true,
	.run = cmd_agent_run,
};
