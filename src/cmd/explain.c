/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat explain: loads a server on this host, records the events meanwhile, and reports why its
 * slow requests were slow. `hostlat load`, `record` and `conns` run as separate processes, so that
 * none disturbs another. Their recordings stay in the folder of the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/folder.h"
#include "base/keys.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "base/progress.h"
#include "clock/clock.h"
#include "cmd/arguments.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/explain_conns.h"
#include "cmd/explain_options.h"
#include "cmd/explain_result.h"
#include "cmd/load_rate.h"
#include "load/protocol.h"
#include "report/human.h"

/* Time limit of a start: loading and testing BPF programs, connecting, on a busy machine. */
#define START_PATIENCE_NS (120 * NS_PER_S)
/* Privileges of the load: for its priority, and for a higher limit of open files. */
#define EXPLAIN_LOAD_PRIVILEGES (PRIVILEGE(CAP_SYS_NICE) | PRIVILEGE(CAP_SYS_RESOURCE))
/* The same, and those for starting and stopping a load that runs as another user. */
#define EXPLAIN_PRIVILEGES                                                                         \
	(PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) | PRIVILEGE(CAP_KILL) |                     \
	 EXPLAIN_LOAD_PRIVILEGES)
#define FOLDER_NAME_MAX 64
#define LOOK_NS (200 * NS_PER_MS) /* time between two looks at keys and progress */
#define END_PATIENCE_NS (120 * NS_PER_S)

/* ---- the run ---- */

/* Logs why a command failed. The command's own error message includes what to do. */
static void explain_report_failure(const char *command, struct child *child, int code)
{
	struct strbuf why = STRBUF_INIT(4096);

	child_relay_warnings(child);
	child_put_error(child, code, &why);
	if (code == -EINTR)
		log_error("interrupted before a result was available");
	else
		log_error("hostlat %s failed: %s", command, strbuf_str(&why));
	strbuf_release(&why);
}

static bool explain_has_result(int code)
{
	return code == EXIT_OK || code == EXIT_PARTIAL;
}

/* A run in progress: what ends it, and the line that shows how far it is. */
struct explain_run {
	struct stop stop;
	struct keys keys;
	struct progress progress;
};

/*
 * Waits for `hostlat load`, whose requests take `duration_ns` (0: it only prepares), and shows how
 * much of that is left. Returns as child_wait() does.
 */
static int explain_wait_load(struct child *load, uint64_t duration_ns, struct explain_run *run)
{
	const uint64_t begin = clock_now(), until = begin + duration_ns + START_PATIENCE_NS;
	char left[HUMAN_MAX];
	int code;

	do {
		const uint64_t now = clock_now(), spent = now - begin;

		keys_quit(&run->keys);
		if (spent < duration_ns)
			progress_text(&run->progress, now, "1/3 loading, %s left",
				      human_ns(left, (duration_ns - spent + NS_PER_S - 1) /
						     NS_PER_S * NS_PER_S));
		else
			progress_text(&run->progress, now, duration_ns ?
				      "1/3 loading, waiting for the last replies" : "preparing");
		code = child_wait(load, LOOK_NS, &run->stop);
	} while (code == -ETIMEDOUT && clock_now() < until);
	return code;
}

/* Runs `hostlat load` and waits for its result. */
static int explain_run_load(const struct explain_config *c, struct explain_run *run,
			    uint64_t duration_ns,
			    void (*words_of)(struct child_arguments *w,
					     const struct explain_config *c))
{
	struct child_arguments words = { 0 };
	struct child load;
	int code;

	words_of(&words, c);
	code = words.error ?: child_start_plain(&load, words.words, c->folder,
						 EXPLAIN_LOAD_PRIVILEGES);
	if (!code)
		code = explain_wait_load(&load, duration_ns, run);
	if (code == -EINTR) { /* after SIGINT, `hostlat load` writes its result so far */
		child_interrupt(&load);
		code = child_wait(&load, END_PATIENCE_NS, &(struct stop){ .fd = -1 });
	}
	if (!explain_has_result(code))
		explain_report_failure("load", &load, code);
	child_end(&load);
	arguments_release(&words);
	return explain_has_result(code) ? 0 : -EIO;
}

/* ---- recording the connections: optional, the result is made without it, too ---- */

struct conns_child {
	struct child child;
	bool runs;
	struct strbuf why; /* reason why recording failed; empty: it has not failed */
};

/* Deletes the recording of the connections, which belongs to an earlier run or is incomplete. */
static void explain_conns_forget(const struct explain_config *c)
{
	struct child_arguments words = { 0 };

	unlink(arguments_format(&words, "%s/" EXPLAIN_CONNS, c->folder));
	arguments_release(&words);
}

static void explain_conns_failed(struct conns_child *conns, const struct explain_config *c,
				 int code)
{
	child_relay_warnings(&conns->child);
	child_put_error(&conns->child, code, &conns->why);
	log_warning("connections are not measured: %s", strbuf_str(&conns->why));
	child_end(&conns->child);
	explain_conns_forget(c);
	conns->runs = false;
}

/* Starts recording connections. Returns 0, even if this is impossible, or -EINTR. */
static int explain_conns_start(struct conns_child *conns, const struct explain_config *c,
			       struct stop *stop)
{
	struct child_arguments words = { 0 };
	int code;

	explain_options_conns(&words, c);
	code = child_start(&conns->child, words.words);
	conns->runs = true;
	if (!code)
		code = child_ready(&conns->child, START_PATIENCE_NS, stop);
	arguments_release(&words);
	if (!code)
		child_relay_warnings(&conns->child);
	if (!code || code == -EINTR)
		return code;
	explain_conns_failed(conns, c, code);
	return 0;
}

static void explain_conns_finish(struct conns_child *conns, const struct explain_config *c)
{
	int code;

	if (!conns->runs)
		return;
	code = child_wait(&conns->child, END_PATIENCE_NS, &(struct stop){ .fd = -1 });
	if (explain_has_result(code))
		child_end(&conns->child);
	else
		explain_conns_failed(conns, c, code);
}

/* Chooses the rate, before anything is recorded. Returns 0 or, after a message, -errno. */
static int explain_choose_rate(struct explain_config *c, struct explain_run *run)
{
	struct child_arguments words = { 0 };
	const char *path = arguments_format(&words, "%s/" EXPLAIN_RATE, c->folder);
	int err = explain_run_load(c, run, 0, explain_options_probe) ? -ECANCELED :
		  load_rate_read(path, &c->rate_probed);

	if (!err) {
		c->rate = load_rate_from(c->rate_probed);
		load_rate_log(c->rate_probed);
	} else if (err != -ECANCELED) {
		log_error("cannot read the rate from %s: %s", path, strerror(-err));
	}
	unlink(path);
	arguments_release(&words);
	return err;
}

static int explain_run_children(struct explain_config *c, uint64_t port, struct explain_run *run,
				struct conns_child *conns)
{
	struct child_arguments words = { 0 };
	struct child recorder;
	int code;

	/* Store the keys before recording starts: otherwise their messages count as the load's. */
	if (c->preload && explain_run_load(c, run, 0, explain_options_preload))
		return -EIO;
	if (explain_options_lack_rate(c) && explain_choose_rate(c, run))
		return -EIO;
	explain_conns_forget(c);
	code = c->no_conns ? 0 : explain_conns_start(conns, c, &run->stop);
	if (code) {
		explain_report_failure("conns", &conns->child, code);
		return code;
	}
	explain_options_record(&words, c, port);
	code = child_start(&recorder, words.words);
	if (!code)
		code = child_ready(&recorder, START_PATIENCE_NS, &run->stop);
	if (code) {
		explain_report_failure("record", &recorder, code);
		goto out;
	}
	child_relay_warnings(&recorder);
	privilege_keep(EXPLAIN_PRIVILEGES);
	log_info("measuring");
	code = explain_run_load(c, run, c->duration_ns, explain_options_load);
	if (code)
		goto out;
	progress_phase(&run->progress, clock_now(), "2/3 writing the recordings");
	child_interrupt(&recorder);
	if (conns->runs)
		child_interrupt(&conns->child);
	code = child_wait(&recorder, END_PATIENCE_NS, &(struct stop){ .fd = -1 });
	if (explain_has_result(code)) {
		code = 0;
	} else {
		explain_report_failure("record", &recorder, code);
		code = -EIO;
	}
	explain_conns_finish(conns, c);
out:
	child_end(&recorder);
	arguments_release(&words);
	return code;
}

/* Makes report.html from result.json. Logs a failure; result.json remains valid. */
static void explain_make_page(const struct explain_config *c, struct stop *stop)
{
	struct child_arguments words = { 0 };
	struct child child;
	int code;

	arguments_add(&words, "hostlat");
	arguments_add(&words, "report");
	arguments_add(&words, arguments_format(&words, "%s/" EXPLAIN_RESULT, c->folder));
	arguments_add_option(&words, "--output",
			     arguments_format(&words, "%s/" EXPLAIN_PAGE, c->folder));
	code = child_start_plain(&child, words.words, c->folder, 0);
	if (!code)
		code = child_wait(&child, END_PATIENCE_NS, stop);
	if (code)
		explain_report_failure("report", &child, code);
	child_end(&child);
	arguments_release(&words);
}

/* ---- the command ---- */

/* Refuses a folder in which a file of the run is a symbolic link, which writing would follow. */
static int explain_check_links(const char *path)
{
	static const char *const names[] = {
		EXPLAIN_SERVER, EXPLAIN_CLIENT, EXPLAIN_CONNS, EXPLAIN_WATCH,
		EXPLAIN_LOAD,	EXPLAIN_RESULT, EXPLAIN_PAGE, EXPLAIN_RATE,
	};
	int folder = folder_open(path), err = folder < 0 ? folder : 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(names) && !err; i++) {
		if (fstatat(folder, names[i], &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode))
			continue;
		log_error("%s/%s is a symbolic link: remove it, or choose another folder", path,
			  names[i]);
		err = -ELOOP;
	}
	if (folder >= 0)
		close(folder);
	return err;
}

static int explain_make_folder(const char *path)
{
	int err = folder_make(path);

	if (err)
		log_error("cannot create the folder %s: %s", path, folder_strerror(err));
	return err ? err : explain_check_links(path);
}

static int explain_server_port(const struct explain_config *c, uint64_t *port)
{
	struct strbuf why = STRBUF_INIT(4096);
	const char *connect_to = c->to.request.connect_to;
	struct target target;
	int err = target_parse(c->url, &target, &why);

	if (!err && connect_to && request_options_split(connect_to, target.host, target.port)) {
		request_options_check(&c->to.request, &why);
		err = -EINVAL;
	}
	*port = c->port;
	if (err)
		log_error("%s", strbuf_str(&why));
	else if (target.unix_socket || target.protocol->no_network)
		log_error("%s is reached without a network: there are no packets to explain",
			  c->url);
	else if (!*port && parse_u64(target.port, port))
		log_error("%s has no port", c->url);
	strbuf_release(&why);
	return err || target.unix_socket || target.protocol->no_network || !*port ? -EINVAL : 0;
}

/* Checks the options of the load before anything starts. Returns an exit code. */
static int explain_check_load(const struct explain_config *c)
{
	const struct load_options o = explain_options_of_load(c);
	struct strbuf why = STRBUF_INIT(16384);
	int err = load_options_check(&o, false, &why);

	if (!err)
		err = load_options_useful(&o, NULL, &why);
	if (err)
		log_error("explain: %s", why.len ? strbuf_str(&why) : strerror(-err));
	strbuf_release(&why);
	return !err ? EXIT_OK : err == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}

static int explain_server(struct explain_config *c, uint64_t port, struct explain_run *run)
{
	struct conns_child conns = { .why = STRBUF_INIT(4096) };
	struct explain_input input = { .folder = c->folder };
	int code = EXIT_CANNOT;

	if (!explain_run_children(c, port, run, &conns)) {
		/* From here on, the process only reads recordings and writes into the folder. */
		privilege_keep(0);
		progress_phase(&run->progress, clock_now(), "3/3 explaining");
		input.conns_failed = conns.why.len;
		input.no_conns = c->no_conns ? "--no-conns" :
				conns.why.len ? strbuf_str(&conns.why) : NULL;
		code = explain_result(&input, &c->common);
	}
	if (code == EXIT_OK || code == EXIT_PARTIAL)
		explain_make_page(c, &run->stop);
	child_end(&conns.child);
	strbuf_release(&conns.why);
	return code;
}

/* Names the folder of a run without --output by the time, in UTC. */
static void explain_name_folder(struct explain_config *c, char name[FOLDER_NAME_MAX])
{
	const time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(name, FOLDER_NAME_MAX, "explain-%Y%m%d-%H%M%S", &tm);
	c->folder = name;
}

/*
 * Checks required options: the option table cannot express that --from replaces
 * the URL.
 */
static bool explain_is_complete(const struct explain_config *c)
{
	if (c->from && c->url)
		log_error("explain: --from cannot be combined with a URL");
	else if (!c->from && !c->url)
		log_error("explain: URL is missing; it takes " LOAD_TARGET_TAKES);
	else
		return true;
	return false;
}

static int explain_from(const struct explain_config *c)
{
	struct common_options common = c->common;

	if (c->folder && common.output) {
		log_error("explain: with --from, --output is the file for what is printed, as "
			  "--summary is: give one of them");
		return EXIT_USAGE;
	}
	if (c->folder)
		common.output = c->folder;
	return explain_result(&(struct explain_input){ .folder = c->from, .anew = true }, &common);
}

static int cmd_explain_run(const void *config)
{
	struct explain_config command = *(const struct explain_config *)config, *c = &command;
	char name[FOLDER_NAME_MAX];
	struct explain_run run = { 0 };
	uint64_t port;
	int err;

	common_begin(&c->common);
	if (!explain_is_complete(c))
		return EXIT_USAGE;
	if (c->from) {
		privilege_read_only();
		return explain_from(c);
	}
	if (explain_server_port(c, &port))
		return EXIT_USAGE;
	err = explain_check_load(c);
	if (err)
		return err;
	if (!c->folder)
		explain_name_folder(c, name);
	if (explain_make_folder(c->folder))
		return EXIT_CANNOT;
	err = stop_init(&run.stop);
	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_CANNOT;
	}
	keys_open_progress(&run.keys, c->common.quiet);
	progress_begin(&run.progress, c->common.quiet, clock_now());
	err = explain_server(c, port, &run);
	progress_end(&run.progress);
	keys_close(&run.keys);
	stop_release(&run.stop);
	return err;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "load a server on this host and explain its slow requests",
	.task = "my requests are slow",
	.try = "sudo hostlat explain URL",
	.examples = {
		{ "sudo hostlat explain http://127.0.0.1/",
		  "Send requests at a rate that the server can bear, and explain the slow ones" },
		{ "sudo hostlat explain memcached://127.0.0.1 --rate 5000 --preload -o slow",
		  "Explain slow requests at this rate; then open slow/report.html" },
		{ "hostlat explain --from slow",
		  "Explain the same recordings again, without privileges" },
	},
	.options = explain_option_rows,
	.config_size = sizeof(struct explain_config),
	.run = cmd_explain_run,
};
