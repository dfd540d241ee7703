/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat serve: a server with known service times, for testing load generators. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "base/stop.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/result.h"
#include "load/serve.h"

#define SCHEMA 1
#define WHY_MAX 4096

struct serve_options {
	struct opt_list addresses;
	uint32_t protocol, mode;
	uint64_t threads, workers, seed, reply_size, max_connections, idle;
	bool amplify;
	const char *service, *stall, *tls_cert, *tls_key;
	struct common_options common;
};

static const struct opt_choice protocol_choices[] = {
	{ "synthetic", SERVE_SYNTHETIC, "each request contains its service time, each "
					"reply its departure time" },
	{ "echo", SERVE_ECHO, "each reply has the request's header and length" },
	{ "r2p2", SERVE_R2P2, "the synthetic protocol in R2P2 datagrams" },
	{ "memcached", SERVE_MEMCACHED, "the ASCII protocol of memcached" },
	{ "redis", SERVE_REDIS, "RESP" },
	{ "http", SERVE_HTTP, "HTTP/1.1" },
	{ NULL, 0, NULL },
};

enum mode { MODE_SLEEP, MODE_SPIN };

static const struct opt_choice mode_choices[] = {
	{ "sleep", MODE_SLEEP, "wait for a timer, which uses no CPU" },
	{ "spin", MODE_SPIN, "burn CPU, as a real service would" },
	{ NULL, 0, NULL },
};

static const struct opt serve_rows[] = {
	OPT_LIST(struct serve_options, addresses, .name = "ADDRESS",
		 .group = OPT_TARGET, .positional = true,
		 .required = true,
		 .help = "Address to listen on: 127.0.0.1:9000, [::1]:9000, unix:PATH, "
			 "udp:127.0.0.1:9000; port 0 picks a free one"),
	OPT_CHOICE(struct serve_options, protocol, .name = "protocol",
		   .group = OPT_TARGET, .aliases = "p",
		   .def = "synthetic", .choices = protocol_choices,
		   .help = "Protocol of the server"),
	OPT_STRING(struct serve_options, service, .name = "service",
		   .group = OPT_LOAD, .metavar = "DISTRIBUTION",
		   .def = "zero",
		   .help = "Distribution of the service time: zero, fixed:10us, exponential:10us, "
			   "bimodal:0.9:10us:100us, lognormal:50us:2 ..."),
	OPT_CHOICE(struct serve_options, mode, .name = "service-mode",
		   .group = OPT_LOAD, .def = "sleep",
		   .choices = mode_choices,
		   .help = "Whether a worker sleeps or keeps its CPU busy for the service time"),
	OPT_U64(struct serve_options, workers, .name = "workers",
		.group = OPT_LOAD, .aliases = "w", .def = "1",
		.min = 1, .max = SERVE_WORKERS_MAX,
		.help = "Number of workers, each of which serves one request at a time from one "
			"queue"),
	OPT_U64(struct serve_options, threads, .name = "threads",
		.group = OPT_LOAD, .letter = 't', .def = "1",
		.min = 1, .max = SERVE_THREADS_MAX,
		.help = "Number of threads that read and write; unused with --service-mode spin, "
			"where workers do both"),
	OPT_STRING(struct serve_options, stall, .name = "stall",
		   .group = OPT_LOAD, .metavar = "LENGTH/PERIOD",
		   .help = "Serve nothing during the first LENGTH of each PERIOD of "
			   "CLOCK_MONOTONIC, such as 100ms/1s"),
	OPT_U64(struct serve_options, seed, .name = "seed",
		.group = OPT_LOAD, .rare = true, .def = "1",
		.help = "Seed of the service times"),
	OPT_SIZE(struct serve_options, reply_size, .name = "reply-size",
		 .group = OPT_LOAD, .def = "0",
		 .max = 64 << 20,
		 .help = "Size of a value or page; 0 makes every key a miss and every page empty"),
	OPT_STRING(struct serve_options, tls_cert, .name = "tls-cert",
		   .group = OPT_TARGET, .file = true,
		   .help = "Certificate with its chain (PEM), to serve stream connections over "
			   "TLS"),
	OPT_STRING(struct serve_options, tls_key, .name = "tls-key",
		   .group = OPT_TARGET, .file = true,
		   .help = "Private key (PEM) of --tls-cert"),
	OPT_U64(struct serve_options, max_connections, .name = "max-connections",
		.group = OPT_LOAD, .rare = true, .def = "65536",
		.min = 1, .max = 10000000,
		.help = "Largest number of connections; further connections are closed at once"),
	OPT_DURATION(struct serve_options, idle, .name = "idle",
		     .group = OPT_LOAD, .rare = true, .def = "10m", .min = 0,
		     .help = "Close a connection without traffic after this time; 0 never closes "
			     "it"),
	OPT_FLAG(struct serve_options, amplify, .name = "allow-amplification",
		 .group = OPT_LOAD, .rare = true,
		 .help = "Answer UDP requests of other hosts with larger replies. Danger: a forged "
			 "sender address turns this server against others"),
	OPTIONS_COMMON(struct serve_options, common),
	OPT_END,
};

/* Parses "LENGTH/PERIOD", such as "100ms/1s". */
static int serve_parse_stall(const char *text, struct serve_stall *out)
{
	struct strbuf first = STRBUF_INIT(64);
	const char *slash = strchr(text, '/');
	struct serve_stall stall;
	int err = -EINVAL;

	if (!slash)
		return -EINVAL;
	strbuf_add(&first, text, (size_t)(slash - text));
	err = parse_duration(strbuf_str(&first), &stall.length_ns) ?:
	      parse_duration(slash + 1, &stall.every_ns);
	strbuf_release(&first);
	if (err || stall.length_ns >= stall.every_ns || stall.every_ns > NS_PER_DAY)
		return -EINVAL;
	*out = stall;
	return 0;
}

/* Fills in the configuration from the options. Logs invalid options. */
static int serve_configure(const struct serve_options *o, struct serve_config *config)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	int err = 0;

	*config = (struct serve_config){
		.addresses = o->addresses.items,
		.n_addresses = o->addresses.len,
		.protocol = (enum serve_protocol_number)o->protocol,
		.spin = o->mode == MODE_SPIN,
		.workers = (uint32_t)o->workers,
		.threads = (uint32_t)o->threads,
		.seed = o->seed,
		.reply_size = (uint32_t)o->reply_size,
		.most_conns = (uint32_t)o->max_connections,
		.idle_ns = o->idle,
		.amplify = o->amplify,
		.tls_cert = o->tls_cert,
		.tls_key = o->tls_key,
	};
	if (strcmp(o->service, "zero") &&
	    dist_parse(o->service, DIST_UNIT_NS, &config->service, &why)) {
		log_error("--service: %s, or zero", strbuf_str(&why));
		err = -EINVAL;
	} else if (config->service.kind == DIST_KIND_ZIPF) {
		log_error("--service: zipf is a distribution of ranks, not of times");
		err = -EINVAL;
	} else if (o->stall && serve_parse_stall(o->stall, &config->stall)) {
		log_error("--stall takes LENGTH/PERIOD, such as 100ms/1s, with LENGTH below "
			  "PERIOD, not '%s'", o->stall);
		err = -EINVAL;
	} else if (!o->tls_cert != !o->tls_key) {
		log_error("--tls-cert and --tls-key need each other");
		err = -EINVAL;
	} else if (config->spin && o->workers > SERVE_THREADS_MAX) {
		log_error("--workers: with --service-mode spin each worker is a thread, so at most "
			  "%d",
			  SERVE_THREADS_MAX);
		err = -EINVAL;
	}
	strbuf_release(&why);
	return err;
}

static uint64_t serve_timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_usec * NS_PER_US;
}

static void serve_put_connections(struct report *r, const struct serve_totals *t)
{
	struct object *o = object_new(r);

	object_add(o, "accepted", value_u64(t->accepted));
	object_add(o, "closed", value_u64(t->counts.closed));
	object_add(o, "reset", value_u64(t->counts.reset));
	object_add(o, "open", value_u64(t->open));
	object_add(&r->body, "connections", value_object(o));
}

static void serve_put_errors(struct report *r, const struct serve_totals *t)
{
	const struct {
		const char *reason;
		uint64_t count;
	} errors[] = {
		{ "garbled", t->counts.garbled },
		{ "refused", t->counts.refused },
		{ "unsent", t->counts.unsent },
		{ "not-accepted", t->not_accepted },
		{ "above-limit", t->above_limit },
		{ "idle", t->idle },
		{ "amplifying", t->counts.amplifying },
	};
	const struct column columns[] = {
		{ .name = "reason", .head = "error" }, { .name = "count", .head = "count" },
	};
	struct table *table = table_new(r, columns, 2);

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].count)
			TABLE_ADD(table, value_string(errors[i].reason),
				  value_u64(errors[i].count));
	}
	object_add(&r->body, "errors", value_table(table));
}

static void serve_put_times(struct report *r, const char *name, const char *head,
			    const struct hist *times)
{
	const struct column columns[] = {
		{ name, head, COLUMN_INLINE, SHOW_COUNT | SHOW_P50 | SHOW_P99 | SHOW_MAX },
	};
	struct table *table = table_new(r, columns, 1);

	if (times->count)
		TABLE_ADD(table, value_distribution(r, times));
	object_add(&r->body, name, value_table(table));
}

static int serve_print(const struct serve_options *o, struct serve *serve, uint64_t elapsed_ns)
{
	struct strbuf addresses = STRBUF_INIT(WHY_MAX * 4);
	struct serve_totals t;
	struct rusage usage;
	struct report r;
	int code = EXIT_CANNOT;

	getrusage(RUSAGE_SELF, &usage);
	serve_addresses(serve, &addresses);
	result_begin(&r, "serve", SCHEMA);
	if (serve_totals(serve, &t)) {
		log_error("out of memory");
		goto out;
	}
	report_title(&r, "served %s", strbuf_str(&addresses));
	report_summary(&r, "%llu requests", (unsigned long long)t.counts.requests);
	report_summary(&r, "%llu connections", (unsigned long long)t.accepted);
	object_add(&r.body, "elapsed_ns", value_ns(elapsed_ns));
	object_add(&r.body, "requests", value_u64(t.counts.requests));
	object_add(&r.body, "replies", value_u64(t.counts.replies));
	object_add(&r.body, "waiting", value_u64(t.waiting));
	object_add(&r.body, "received_bytes", value_u64(t.counts.received));
	object_add(&r.body, "sent_bytes", value_u64(t.counts.sent));
	object_add(&r.body, "busy_ns", value_ns(t.counts.busy_ns));
	object_add(&r.body, "cpu_user_ns", value_ns(serve_timeval_ns(&usage.ru_utime)));
	object_add(&r.body, "cpu_system_ns", value_ns(serve_timeval_ns(&usage.ru_stime)));
	serve_put_connections(&r, &t);
	serve_put_times(&r, "latency", "from reading a request to its reply", &t.latency);
	serve_put_times(&r, "lag", "departures behind their time", &t.lag);
	serve_put_errors(&r, &t);
	code = result_print(&r, &o->common);
out:
	hist_release(&t.lag);
	hist_release(&t.latency);
	report_release(&r);
	strbuf_release(&addresses);
	return code;
}

static int serve_until_stopped(const struct serve_options *o, const struct serve_config *config,
			       int stop_fd)
{
	struct strbuf text = STRBUF_INIT(WHY_MAX * 4);
	struct serve *serve = NULL;
	int code = EXIT_CANNOT, err;
	int64_t start;

	err = serve_new(&serve, config, &text);
	if (err) {
		log_error("%s", strbuf_str(&text));
		strbuf_release(&text);
		return err == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	}
	serve_addresses(serve, &text);
	log_info("serving %s", strbuf_str(&text));
	strbuf_release(&text);
	start = clock_mono_ns(clock_system());
	err = serve_run(serve, stop_fd);
	if (err)
		log_error("cannot serve: %s", strerror(-err));
	else
		code = serve_print(o, serve, (uint64_t)(clock_mono_ns(clock_system()) - start));
	serve_free(serve);
	return code;
}

static int cmd_serve_run(const void *options)
{
	const struct serve_options *o = options;
	struct serve_config config;
	struct stop stop;
	int code, err;

	common_begin(&o->common);
	if (serve_configure(o, &config))
		return EXIT_USAGE;
	privilege_keep(PRIVILEGE(CAP_NET_BIND_SERVICE) | PRIVILEGE(CAP_SYS_RESOURCE));
	descriptors_raise(); /* each connection needs a descriptor */
	err = stop_init(&stop);
	if (err) {
		log_error("cannot wait for signals: %s", strerror(-err));
		return EXIT_CANNOT;
	}
	code = serve_until_stopped(o, &config, stop.fd);
	stop_release(&stop);
	return code;
}

const struct command cmd_serve = {
	.name = "serve",
	.summary = "run a synthetic server with known service times",
	.examples = {
		{ "hostlat serve 127.0.0.1:9000 --service exponential:100us",
		  "Serve an M/M/1 queue, if requests come as a Poisson process" },
		{ "hostlat serve 127.0.0.1:9000 --protocol memcached --stall 100ms/1s",
		  "Stall 100 ms in every second, which coordinated omission does not see" },
		{ "hostlat serve 127.0.0.1:8080 --protocol http --json",
		  "Serve HTTP as cheaply as possible, to measure the cost of a generator" },
	},
	.options = serve_rows,
	.config_size = sizeof(struct serve_options),
	.run = cmd_serve_run,
};
