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
#include "base/log.h"
#include "base/opt_words.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cmd/arguments.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/explain_conns.h"
#include "cmd/explain_result.h"
#include "cmd/load_options.h"
#include "cmd/load_rate.h"
#include "load/protocol.h"

/* Time limit of a start: loading and testing BPF programs, connecting, on a busy machine. */
#define START_PATIENCE_NS (120 * NS_PER_S)
/* Privileges for starting and stopping a load that runs as another user. */
#define EXPLAIN_PRIVILEGES \
	(PRIVILEGE(CAP_SETUID) | PRIVILEGE(CAP_SETGID) | PRIVILEGE(CAP_KILL))
#define REQUEST_WORDS_MAX (2 << 20) /* bytes of the options of requests */
#define FOLDER_NAME_MAX 64
#define END_PATIENCE_NS (120 * NS_PER_S)

struct explain_config {
	const char *url;
	double rate, rate_probed;
	uint64_t duration_ns;
	const char *folder;
	uint64_t port;
	uint64_t connections, outstanding, threads, seed;
	uint64_t size_limit;
	const char *workload, *arrival, *replay;
	bool preload, no_conns;
	struct opt_list commands;
	struct load_request_options to;
	const char *from;
	struct common_options common;
};

static const struct opt explain_options[] = {
	OPT_STRING(struct explain_config, url, .name = "URL", .positional = true,
		   .help = "Server to load, on this host in any network namespace; the forms are "
			   "those of hostlat load"),
	OPT_RATE(struct explain_config, rate, .name = "rate", .letter = 'r', .excludes = "from",
		 .help = "Requests per second (default: half of what one connection reaches that "
			 "sends one request at a time, at most 10k)"),
	OPTION_FOR(struct explain_config, duration_ns, .def = "10s",
		   .min = NS_PER_S, .help = "Time for which requests are sent"),
	OPTION_OUTPUT(struct explain_config, folder, .metavar = "FOLDER", .aliases = "folder",
		      .help = "Folder for report.html, result.json and the recordings; created "
			      "if missing (default: explain-DATE-TIME). With --from: file for "
			      "what is printed"),
	OPT_U64(struct explain_config, port, .name = "port", .min = 1, .max = 65535,
		.help = "Port on which the server itself listens, if it is not the URL's"),
	OPT_U64(struct explain_config, connections, .name = "connections", .letter = 'c', .min = 1,
		.help = "Number of connections"),
	OPT_U64(struct explain_config, outstanding, .name = "outstanding", .min = 1,
		.help = "Largest number of requests in flight per connection"),
	OPT_U64(struct explain_config, threads, .name = "threads", .letter = 't', .min = 1,
		.help = "Number of threads that send requests"),
	OPT_STRING(struct explain_config, workload, .name = "workload", .letter = 'w',
		   .metavar = "WORKLOAD",
		   .help = "Keys, values and mix of the requests (see hostlat load)"),
	OPT_LIST(struct explain_config, commands, .name = "command",
		 .metavar = "[WEIGHT:]COMMAND",
		 .help = "Redis command that the requests are (see hostlat load)"),
	OPT_STRING(struct explain_config, replay, .name = "replay", .file = true,
		   .excludes = "from",
		   .help = "File of recorded requests to send, at their own times or with "
			   "--rate in its order (see hostlat load)"),
	OPT_STRING(struct explain_config, arrival, .name = "arrival", .metavar = "LAW",
		   .help = "Arrival process (see hostlat load)"),
	OPT_U64(struct explain_config, seed, .name = "seed", .min = 1,
		.help = "Seed of the arrival schedule"),
	OPT_FLAG(struct explain_config, preload, .name = "preload",
		 .help = "Store every key before measuring"),
	OPTIONS_LOAD_REQUEST(struct explain_config, to),
	OPT_SIZE(struct explain_config, size_limit, .name = "size-limit", .min = 64 << 10,
		 .help = "Largest size of the server's recording (see hostlat record)"),
	OPT_FLAG(struct explain_config, no_conns, .name = "no-conns", .excludes = "from",
		 .help = "Do not measure what limits each connection"),
	OPT_STRING(struct explain_config, from, .name = "from", .file = true,
		   .metavar = "FOLDER", .excludes = LOAD_REQUEST_ROWS,
		   .help = "Explain the recordings of an earlier run again; needs no privileges"),
	OPTIONS_COMMON_SUMMARY(struct explain_config, common),
	OPT_END,
};

/* ---- arguments of the child processes ---- */

static void explain_put_record(struct child_arguments *w, const struct explain_config *c,
			       uint64_t port)
{
	arguments_add(w, "hostlat");
	arguments_add(w, "record");
	arguments_add_option(w, "--output",
			     arguments_format(w, "%s/" EXPLAIN_SERVER, c->folder));
	arguments_add_number(w, "--port", port);
	arguments_add_option(w, "--interval", "250ms");
	arguments_add_number(w, "--size-limit", c->size_limit);
	arguments_add(w, "--json");
	arguments_add_option(w, "--summary", arguments_format(w, "%s/" EXPLAIN_WATCH, c->folder));
}

/* Records all connections of the host; explain selects the run's connections afterwards. */
static void explain_put_conns(struct child_arguments *w, const struct explain_config *c)
{
	arguments_add(w, "hostlat");
	arguments_add(w, "conns");
	arguments_add_option(w, "--record", arguments_format(w, "%s/" EXPLAIN_CONNS, c->folder));
	arguments_add(w, "--record-all");
	arguments_add_option(w, "--interval", "250ms");
	arguments_add(w, "--json");
	arguments_add_option(w, "--output", "/dev/null");
}

/* Adds the options that --header, --cert and the like share with `hostlat load`. */
static void explain_put_request_options(struct child_arguments *w, const struct explain_config *c)
{
	struct strbuf *text = &w->texts[w->made++];
	char *rest, *word;

	*text = (struct strbuf)STRBUF_INIT(REQUEST_WORDS_MAX);
	w->error = opt_words(load_request_option_rows, &c->to, "", text);
	for (rest = text->buf; !w->error && (word = strsep(&rest, "\n")) != NULL;) {
		if (*word && strcmp(word, "--") != 0)
			arguments_add(w, opt_words_unescape(word));
	}
}

static void explain_put_request(struct child_arguments *w, const struct explain_config *c)
{
	arguments_add(w, "hostlat");
	arguments_add(w, "load");
	arguments_add(w, c->url);
	arguments_add_number(w, "--seed", c->seed);
	arguments_add_option(w, "--workload", c->workload);
	arguments_add_option(w, "--replay", c->replay);
	for (uint32_t i = 0; i < c->commands.len; i++)
		arguments_add_option(w, "--command", c->commands.items[i]);
	explain_put_request_options(w, c);
}

static void explain_put_preload(struct child_arguments *w, const struct explain_config *c)
{
	explain_put_request(w, c);
	arguments_add(w, "--preload");
	arguments_add_option(w, "--rate", "100");
	arguments_add_option(w, "--for", "100ms");
	arguments_add_number(w, "--connections", c->connections);
	arguments_add_option(w, "--output", "/dev/null");
}

static void explain_put_probe(struct child_arguments *w, const struct explain_config *c)
{
	explain_put_request(w, c);
	arguments_add_option(w, "--probe-to", arguments_format(w, "%s/" EXPLAIN_RATE, c->folder));
}

static void explain_put_load(struct child_arguments *w, const struct explain_config *c)
{
	explain_put_request(w, c);
	if (c->rate > 0)
		arguments_add_option(w, "--rate", arguments_format(w, "%.17g", c->rate));
	if (c->rate_probed > 0)
		arguments_add_option(w, "--rate-probed",
				     arguments_format(w, "%.3f", c->rate_probed));
	arguments_add_option(w, "--for",
			     arguments_format(w, "%lluns", (unsigned long long)c->duration_ns));
	arguments_add_option(w, "--timestamps", "kernel");
	arguments_add_number(w, "--connections", c->connections);
	arguments_add_number(w, "--outstanding", c->outstanding);
	arguments_add_number(w, "--threads", c->threads);
	arguments_add_option(w, "--arrival", c->arrival);
	arguments_add_option(w, "--record", arguments_format(w, "%s/" EXPLAIN_CLIENT, c->folder));
	arguments_add(w, "--json");
	arguments_add_option(w, "--output", arguments_format(w, "%s/" EXPLAIN_LOAD, c->folder));
}

static struct load_options explain_load_options(const struct explain_config *c)
{
	return (struct load_options){
		.urls = { .items = { c->url }, .len = 1 }, .rate = c->rate,
		.workload = c->workload, .arrival = c->arrival, .connections = c->connections,
		.threads = c->threads, .preload = c->preload, .to = c->to,
		.replay = { .file = c->replay },
	};
}

static bool explain_lacks_rate(const struct explain_config *c)
{
	const struct load_options o = explain_load_options(c);

	return load_options_lacks_rate(&o, false);
}

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

/* Runs `hostlat load` and waits for its result. */
static int explain_run_load(const struct explain_config *c, struct stop *stop, uint64_t duration_ns,
			    void (*words_of)(struct child_arguments *w,
					     const struct explain_config *c))
{
	struct child_arguments words = { 0 };
	struct child load;
	int code;

	words_of(&words, c);
	code = words.error ?: child_start_plain(&load, words.words, c->folder);
	if (!code)
		code = child_wait(&load, duration_ns + START_PATIENCE_NS, stop);
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

	explain_put_conns(&words, c);
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
static int explain_choose_rate(struct explain_config *c, struct stop *stop)
{
	struct child_arguments words = { 0 };
	const char *path = arguments_format(&words, "%s/" EXPLAIN_RATE, c->folder);
	int err = explain_run_load(c, stop, 0, explain_put_probe) ? -ECANCELED :
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

static int explain_run_children(struct explain_config *c, uint64_t port, struct stop *stop,
				struct conns_child *conns)
{
	struct child_arguments words = { 0 };
	struct child recorder;
	int code;

	/* Store the keys before recording starts: otherwise their messages count as the load's. */
	if (c->preload && explain_run_load(c, stop, 0, explain_put_preload))
		return -EIO;
	if (explain_lacks_rate(c) && explain_choose_rate(c, stop))
		return -EIO;
	explain_conns_forget(c);
	code = c->no_conns ? 0 : explain_conns_start(conns, c, stop);
	if (code) {
		explain_report_failure("conns", &conns->child, code);
		return code;
	}
	explain_put_record(&words, c, port);
	code = child_start(&recorder, words.words);
	if (!code)
		code = child_ready(&recorder, START_PATIENCE_NS, stop);
	if (code) {
		explain_report_failure("record", &recorder, code);
		goto out;
	}
	child_relay_warnings(&recorder);
	privilege_keep(EXPLAIN_PRIVILEGES);
	log_info("measuring");
	code = explain_run_load(c, stop, c->duration_ns, explain_put_load);
	if (code)
		goto out;
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
	code = child_start_plain(&child, words.words, c->folder);
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
	const struct load_options o = explain_load_options(c);
	struct strbuf why = STRBUF_INIT(16384);
	int err = load_options_check(&o, false, &why);

	if (!err)
		err = load_options_useful(&o, NULL, &why);
	if (err)
		log_error("explain: %s", why.len ? strbuf_str(&why) : strerror(-err));
	strbuf_release(&why);
	return !err ? EXIT_OK : err == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
}

static int explain_server(struct explain_config *c, uint64_t port, struct stop *stop)
{
	struct conns_child conns = { .why = STRBUF_INIT(4096) };
	struct explain_input input = { .folder = c->folder };
	int code = EXIT_CANNOT;

	if (!explain_run_children(c, port, stop, &conns)) {
		/* From here on, the process only reads recordings and writes into the folder. */
		privilege_keep(0);
		input.conns_failed = conns.why.len;
		input.no_conns = c->no_conns ? "--no-conns" :
				conns.why.len ? strbuf_str(&conns.why) : NULL;
		code = explain_result(&input, &c->common);
	}
	if (code == EXIT_OK || code == EXIT_PARTIAL)
		explain_make_page(c, stop);
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
	struct stop stop = { 0 };
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
	err = stop_init(&stop);
	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_CANNOT;
	}
	err = explain_server(c, port, &stop);
	stop_release(&stop);
	return err;
}

const struct command cmd_explain = {
	.name = "explain",
	.summary = "load a server on this host and explain its slow requests",
	.options = explain_options,
	.config_size = sizeof(struct explain_config),
	.run = cmd_explain_run,
};
