/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain_options.h"

#include <string.h>

#include "base/opt_words.h"
#include "base/parse.h"
#include "cmd/explain_conns.h"
#include "cmd/explain_result.h"

#define REQUEST_WORDS_MAX (2 << 20) /* bytes of the options of requests */
/* Names of the options that only a run can use, for `excludes` of --from. */
#define EXPLAIN_MEASURING                                                                          \
	"rate,for,port,connections,outstanding,threads,priority,pin,workload,command,replay,"      \
	"arrival,seed,preload,size-limit,no-conns," LOAD_REQUEST_ROWS

const struct opt explain_option_rows[] = {
	OPT_STRING(struct explain_config, url, .name = "URL",
		   .group = OPT_TARGET, .positional = true,
		   .help = "Server to load, on this host in any network namespace; the forms are "
			   "those of hostlat load"),
	OPT_RATE(struct explain_config, rate, .name = "rate",
		 .group = OPT_LOAD, .letter = 'r',
		 .help = LOAD_RATE_HELP),
	OPTION_FOR(struct explain_config, duration_ns, .def = "10s",
		   .min = NS_PER_S, .help = "Time for which requests are sent"),
	OPTION_OUTPUT(struct explain_config, folder, .metavar = "FOLDER", .aliases = "folder",
		      .help = "Folder for report.html, result.json and the recordings; created "
			      "if missing (default: explain-DATE-TIME). With --from: file for "
			      "what is printed"),
	OPT_U64(struct explain_config, port, .name = "port",
		.group = OPT_TARGET, .min = 1, .max = 65535,
		.help = "Port on which the server itself listens, if it is not the URL's"),
	OPT_U64(struct explain_config, connections, .name = "connections",
		.group = OPT_LOAD, .letter = 'c', .min = 1,
		.help = "Number of connections"),
	OPT_U64(struct explain_config, outstanding, .name = "outstanding",
		.group = OPT_LOAD, .rare = true, .min = 1,
		.help = "Largest number of requests in flight per connection"),
	OPTIONS_LOAD_THREADS(struct explain_config, threads),
	OPT_STRING(struct explain_config, workload, .name = "workload",
		   .group = OPT_LOAD, .letter = 'w',
		   .metavar = "WORKLOAD",
		   .help = "Keys, values and mix of the requests (see hostlat load)"),
	OPT_LIST(struct explain_config, commands, .name = "command",
		 .group = OPT_LOAD,
		 .metavar = "[WEIGHT:]COMMAND",
		 .help = "Redis command that the requests are (see hostlat load)"),
	OPT_STRING(struct explain_config, replay, .name = "replay",
		   .group = OPT_LOAD, .file = true,
		   .help = "File of recorded requests to send, at their own times or with "
			   "--rate in its order (see hostlat load)"),
	OPT_STRING(struct explain_config, arrival, .name = "arrival",
		   .group = OPT_LOAD, .metavar = "LAW",
		   .help = "Arrival process (see hostlat load)"),
	OPT_U64(struct explain_config, seed, .name = "seed",
		.group = OPT_LOAD, .rare = true, .min = 1,
		.help = "Seed of the arrival schedule"),
	OPT_FLAG(struct explain_config, preload, .name = "preload",
		 .group = OPT_LOAD,
		 .help = "Store every key before measuring"),
	OPTIONS_LOAD_REQUEST(struct explain_config, to),
	OPT_SIZE(struct explain_config, size_limit, .name = "size-limit",
		 .group = OPT_STOP, .rare = true, .min = 64 << 10,
		 .help = "Largest size of the server's recording (see hostlat record)"),
	OPT_FLAG(struct explain_config, no_conns, .name = "no-conns",
		 .group = OPT_MEASURE,
		 .help = "Do not measure what limits each connection"),
	OPT_STRING(struct explain_config, from, .name = "from",
		   .group = OPT_MEASURE, .file = true,
		   .metavar = "FOLDER", .excludes = EXPLAIN_MEASURING,
		   .help = "Explain the recordings of an earlier run again; needs no privileges"),
	OPTIONS_COMMON_SUMMARY(struct explain_config, common),
	OPT_END,
};

/* ---- arguments of the child processes ---- */

void explain_options_record(struct child_arguments *w, const struct explain_config *c,
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

void explain_options_conns(struct child_arguments *w, const struct explain_config *c)
{
	arguments_add(w, "hostlat");
	arguments_add(w, "conns");
	arguments_add_option(w, "--record", arguments_format(w, "%s/" EXPLAIN_CONNS, c->folder));
	arguments_add(w, "--record-all");
	arguments_add_option(w, "--interval", "250ms");
	arguments_add(w, "--json");
	arguments_add_option(w, "--output", "/dev/null");
}

/* Adds options whose rows `hostlat load` has, too. */
static void explain_options_put_rows(struct child_arguments *w, const struct opt *rows,
				     const void *values)
{
	struct strbuf *text = &w->texts[w->made++];
	char *rest, *word;

	*text = (struct strbuf)STRBUF_INIT(REQUEST_WORDS_MAX);
	w->error = opt_words(rows, values, "", text);
	for (rest = text->buf; !w->error && (word = strsep(&rest, "\n")) != NULL;) {
		if (*word && strcmp(word, "--") != 0)
			arguments_add(w, opt_words_unescape(word));
	}
}

static void explain_options_put_request(struct child_arguments *w, const struct explain_config *c)
{
	arguments_add(w, "hostlat");
	arguments_add(w, "load");
	arguments_add(w, "--no-history");
	arguments_add(w, c->url);
	arguments_add_number(w, "--seed", c->seed);
	arguments_add_option(w, "--workload", c->workload);
	arguments_add_option(w, "--replay", c->replay);
	for (uint32_t i = 0; i < c->commands.len; i++)
		arguments_add_option(w, "--command", c->commands.items[i]);
	explain_options_put_rows(w, load_request_option_rows, &c->to);
}

void explain_options_preload(struct child_arguments *w, const struct explain_config *c)
{
	explain_options_put_request(w, c);
	arguments_add(w, "--preload");
	arguments_add_option(w, "--rate", "100");
	arguments_add_option(w, "--for", "100ms");
	arguments_add_number(w, "--connections", c->connections);
	arguments_add_option(w, "--output", "/dev/null");
}

void explain_options_probe(struct child_arguments *w, const struct explain_config *c)
{
	explain_options_put_request(w, c);
	arguments_add_option(w, "--probe-to", arguments_format(w, "%s/" EXPLAIN_RATE, c->folder));
}

void explain_options_load(struct child_arguments *w, const struct explain_config *c)
{
	explain_options_put_request(w, c);
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
	arguments_add_option(w, "--arrival", c->arrival);
	explain_options_put_rows(w, load_thread_option_rows, &c->threads);
	arguments_add_option(w, "--record", arguments_format(w, "%s/" EXPLAIN_CLIENT, c->folder));
	arguments_add(w, "--json");
	arguments_add_option(w, "--output", arguments_format(w, "%s/" EXPLAIN_LOAD, c->folder));
}

struct load_options explain_options_of_load(const struct explain_config *c)
{
	return (struct load_options){
		.urls = { .items = { c->url }, .len = 1 }, .rate = c->rate,
		.workload = c->workload, .arrival = c->arrival, .connections = c->connections,
		.threads = c->threads, .preload = c->preload, .to = c->to,
		.replay = { .file = c->replay },
	};
}

bool explain_options_lack_rate(const struct explain_config *c)
{
	const struct load_options o = explain_options_of_load(c);

	return load_options_lacks_rate(&o, false);
}
