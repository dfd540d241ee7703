/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_options.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "cmd/load_defaults.h"
#include "load/abort_on.h"
#include "load/login.h"
#include "load/methods.h"
#include "load/protocol.h"
#include "load/resp_command.h"
#include "load/schedule.h"
#include "load/scheduling.h"
#include "load/sources.h"
#include "load/statuses.h"
#include "load/url_list.h"
#include "load/workload.h"
#include "load/workload_set.h"

/*
 * Returns the recorded requests if they are sent at their own times, otherwise NULL. `rate_known`:
 * the rate does not come from --rate.
 */
static const struct load_replay_options *timed_replay(const struct load_options *o,
						      bool rate_known)
{
	return o->replay.file && o->loop == LOOP_OPEN && !o->arrival && !o->rate && !rate_known ?
		       &o->replay : NULL;
}

/* ---- checks ---- */

static int load_options_refuse(struct strbuf *why, const char *text)
{
	strbuf_puts(why, text);
	return -EINVAL;
}

/* Parses a URL, and completes the target with the options that add to it. */
static int load_options_target(const struct load_options *o, const char *url,
			       struct target *target, struct strbuf *why)
{
	int err = target_parse(url, target, why);

	target->options = &o->to.request;
	return err ? err : login_read(target, why);
}

/* Lists the URLs of the arguments, or of the file of --urls. Returns as load_options_check(). */
static int load_options_list(const struct load_options *o, struct url_list *list,
			     struct strbuf *why)
{
	return url_list_make(list, o->urls.items, o->urls.len, o->urls_file, why);
}

static int check_list(const struct load_options *o, const struct url_list *list,
		      struct strbuf *why)
{
	struct workload workload;
	struct target target;
	int err = 0;

	for (uint32_t i = 0; !err && i < list->n; i++) {
		err = load_options_target(o, list->items[i].url, &target, why);
		if (err)
			break;
		err = workload_parse(&workload, o->workload, &target, why);
		if (!err)
			workload_release(&workload);
	}
	return err;
}

static int check_targets(const struct load_options *o, struct strbuf *why)
{
	struct url_list list;
	int err;

	if (o->urls.len && o->urls_file)
		return load_options_refuse(why, "--urls cannot be combined with a URL: write all "
						"URLs into the file");
	if (!o->urls.len && !o->urls_file)
		return load_options_refuse(why, "URL is missing; it takes " LOAD_TARGET_TAKES);
	err = load_options_list(o, &list, why);
	if (!err)
		err = check_list(o, &list, why);
	url_list_release(&list);
	return err;
}

bool load_options_lacks_rate(const struct load_options *o, bool rate_known)
{
	struct strbuf why = STRBUF_INIT(4096);
	char law[LOAD_LAW_MAX];
	const char *text;
	struct arrival arrival;
	bool lacks = o->loop == LOOP_OPEN && !o->rate && !rate_known &&
		     !load_arrival_find(o->arrival, timed_replay(o, rate_known), law, &text,
					&arrival, &why) && arrival.kind != ARRIVAL_FILE;

	strbuf_release(&why);
	return lacks;
}

/* Returns whether one connection of this process would show what the server bears. */
static bool one_server(const struct load_options *o)
{
	return o->urls.len == 1 && !load_hosts_asked(&o->hosts);
}

static int check_rate(const struct load_options *o, bool rate_known, struct strbuf *why)
{
	char law[LOAD_LAW_MAX];
	const char *text;
	struct arrival arrival;
	int err = load_arrival_find(o->arrival, timed_replay(o, rate_known), law, &text, &arrival,
				    why);
	bool file = !err && arrival.kind == ARRIVAL_FILE;

	if (err)
		return err;
	if (o->loop == LOOP_CLOSED && rate_known)
		return load_options_refuse(
			why, "--loop closed has no rate: each request follows a reply");
	if (file && (o->rate || rate_known))
		return load_options_refuse(
			why, "--rate cannot be combined with a file of --arrival, which has "
			     "a rate of its own");
	if (load_options_lacks_rate(o, rate_known) && !one_server(o))
		return load_options_refuse(why, "--rate is missing; it takes " PARSE_RATE_TAKES
						"; hostlat chooses one only for one URL, without "
						"--agents");
	return 0;
}

static int check_hosts(const struct load_options *o, struct strbuf *why)
{
	const uint32_t n = load_hosts_loading(&o->hosts);
	struct load_hosts hosts;
	struct arrival arrival;
	const char *text;
	int err;

	if (!load_hosts_asked(&o->hosts))
		return 0;
	if (o->replay.file)
		return load_options_refuse(why, "--replay cannot be combined with --agents and "
						"--latency-agents: the requests of a file "
						"cannot be shared");
	err = load_hosts_parse(&hosts, &o->hosts, why);
	if (!err)
		err = load_arrival_find(o->arrival, NULL, NULL, &text, &arrival, why);
	if (err)
		return err;
	if (arrival.kind == ARRIVAL_FILE)
		return load_options_refuse(why,
					   "a file of --arrival cannot be shared among --agents");
	if (hosts.probes && o->loop == LOOP_CLOSED)
		return load_options_refuse(
			why, "--latency-agents need a rate, and --loop closed has none");
	if (o->connections && o->connections < n * (o->threads.count ? o->threads.count : 1))
		return load_options_refuse(
			why, "--connections must be at least the --threads of all --agents "
			     "together");
	return 0;
}

static int check_abort(const struct load_options *o, struct strbuf *why)
{
	struct abort_on_limits limits;
	int err = abort_on_parse(o->abort_on, &limits, why);

	if (!err && o->loop == LOOP_CLOSED && limits.given >> ABORT_ON_UNSENT & 1)
		return load_options_refuse(why, "--loop closed has no unsent requests for "
						"--abort-on: each request follows a reply");
	return err;
}

static int check_replay(const struct load_options *o, bool rate_known, struct strbuf *why)
{
	if (!o->replay.file)
		return o->replay.speed ?
			load_options_refuse(why, "--replay-speed needs --replay") : 0;
	if (o->replay.speed && !timed_replay(o, rate_known))
		return load_options_refuse(why, "--replay-speed scales the recorded times, which "
						"a rate, --arrival and --loop closed replace");
	if (o->urls_file)
		return load_options_refuse(why, "--replay has paths of its own: name its servers "
						"as URLs, without --urls");
	if (o->workload || o->preload || o->commands.len || o->to.request.method ||
	    o->to.request.body)
		return load_options_refuse(
			why, "--replay has requests of its own: remove --workload, --preload, "
			     "--command, --http-method and --body");
	return 0;
}

int load_options_check(const struct load_options *o, bool rate_known, struct strbuf *why)
{
	struct resp_commands *commands = NULL;
	struct statuses statuses;
	struct sources sources;
	int err = load_request_check(&o->to, why) ?: check_targets(o, why);

	if (!err)
		err = check_rate(o, rate_known, why);
	if (!err)
		err = check_replay(o, rate_known, why);
	if (!err)
		err = statuses_parse(o->to.expect, &statuses, why);
	if (!err)
		err = check_abort(o, why);
	if (!err)
		err = sources_parse(o->bind, &sources, why);
	if (!err)
		err = resp_commands_new(&commands, &o->commands, why);
	resp_commands_free(commands);
	if (err)
		return err;
	if (o->spin && !o->threads.pin)
		return load_options_refuse(
			why, "--spin needs --pin: a thread that never sleeps needs a CPU of "
			     "its own");
	if (o->connections && o->connections < o->threads.count)
		return load_options_refuse(why, "--connections must be at least --threads");
	return check_hosts(o, why);
}

/* Appends the names of the workload settings in the mask `settings`. */
static void name_settings(uint32_t settings, struct strbuf *out)
{
	const char *between = "";

	for (int i = 0; i < WORKLOAD_SETTINGS; i++) {
		if (!(settings >> i & 1))
			continue;
		strbuf_printf(out, "%s%s", between, workload_setting_name(i));
		between = ", ";
	}
}

/*
 * Checks the workload. `url`: the first one; `settings`: mask of the settings that the URLs'
 * protocols use.
 */
static int check_workload(const struct load_options *o, const char *url, uint32_t settings,
			  struct strbuf *why)
{
	struct workload workload;
	struct target target;
	uint32_t idle;
	int err;

	if (!o->workload)
		return 0;
	err = load_options_target(o, url, &target, why);
	if (!err)
		err = workload_parse(&workload, o->workload, &target, why);
	if (err)
		return err;
	idle = workload.given & ~settings;
	workload_release(&workload);
	if (!idle)
		return 0;
	if (!settings) {
		strbuf_puts(why, o->commands.len ?
				 "--workload would do nothing: no --command has {key} or {value}" :
				 "--workload: --http-method and --body make all requests alike; "
				 "{key} and {value} in --body take settings");
		return -EINVAL;
	}
	strbuf_puts(why, "--workload: ");
	name_settings(idle, why);
	strbuf_printf(why, " would do nothing: %s%s takes ", target.protocol->name,
		      o->urls.len > 1 ? " (or another of the URLs)" : "");
	name_settings(settings, why);
	return -EINVAL;
}

/* Properties of all URLs together, which options depend on. */
struct url_uses {
	struct load_request_uses request;
	bool stores, ip;
	uint32_t settings; /* mask of workload settings that the requests use */
};

/*
 * With --command, reduces the mask of settings to those that the commands, or --preload, use.
 * Refuses protocols without commands.
 */
static int use_commands(const struct load_options *o, const struct target *target,
			uint32_t *settings, struct strbuf *why)
{
	struct resp_commands *commands;
	int err = resp_commands_new(&commands, &o->commands, why);

	if (err || !commands)
		return err;
	*settings = resp_commands_settings(commands);
	if (o->preload)
		*settings |= target->protocol->settings;
	resp_commands_free(commands);
	if (target->protocol->encode_command)
		return 0;
	strbuf_printf(why, "--command needs Redis: %s has no such commands",
		      target->protocol->name);
	return -EINVAL;
}

static int add_uses(const struct load_options *o, const char *url, struct url_uses *uses,
		    struct strbuf *why)
{
	struct workload workload;
	struct target target;
	int err = load_options_target(o, url, &target, why);

	if (!err)
		err = workload_parse(&workload, NULL, &target, why);
	if (err)
		return err;
	uses->settings |= workload.settings;
	workload_release(&workload);
	load_request_uses_add(&uses->request, &target);
	uses->ip |= !target.unix_socket && !target.protocol->no_network;
	uses->stores |= protocol_stores(target.protocol);
	return use_commands(o, &target, &uses->settings, why);
}

static int check_uses(const struct load_options *o, const struct url_uses *uses,
		      struct strbuf *why)
{
	const bool hosts = load_hosts_asked(&o->hosts);
	int err = load_request_useful(&o->to, &uses->request, why);

	if (err)
		return err;
	if (!uses->ip && (o->bind || o->addresses))
		return load_options_refuse(why, "--bind and --addresses need a URL with a host");
	if (!uses->stores && o->preload)
		return load_options_refuse(
			why, "--preload stores keys, but no URL is a key-value store: remove "
			     "--preload");
	if (!hosts && o->hosts.command)
		return load_options_refuse(why,
					   "--agent-command needs --agents or --latency-agents");
	if (o->loop == LOOP_CLOSED && o->arrival)
		return load_options_refuse(
			why, "--loop closed has no --arrival: requests follow replies");
	return 0;
}

int load_options_useful(const struct load_options *o, const char *against, struct strbuf *why)
{
	struct url_uses uses = { 0 };
	struct url_list list;
	int err = load_options_list(o, &list, why);

	for (uint32_t i = 0; i < list.n && !err; i++)
		err = add_uses(o, list.items[i].url, &uses, why);
	if (!err && against)
		err = add_uses(o, against, &uses, why);
	if (!err)
		err = check_uses(o, &uses, why);
	if (!err)
		err = check_workload(o, list.items[0].url, uses.settings, why);
	url_list_release(&list);
	return err;
}

/* ---- conversion to configs ---- */

/*
 * Fills in the engine's config. With agents, rate and connections are totals over all agents that
 * generate load (without latency agents), and threads are per agent.
 */
static void load_options_engine(const struct load_options *o, double rate, struct load_config *c)
{
	const uint32_t n = load_hosts_loading(&o->hosts);
	uint32_t threads = o->threads.count ? (uint32_t)o->threads.count :
					      load_default_threads(rate / n);

	*c = (struct load_config){
		.n_targets = o->urls.len,
		.loop = o->loop,
		.stamps = o->stamps,
		.role = ROLE_SYMMETRIC,
		.rate = rate,
		.rate_probed = o->rate_probed,
		.workload = o->workload,
		.threads = threads,
		.connections = o->connections ? (uint32_t)o->connections
					      : n * load_default_connections(rate / n, threads),
		.outstanding = (uint32_t)o->outstanding,
		.requests_per_connection = o->requests_per_connection,
		.timeout_ns = o->timeout_ns,
		.drain_ns = o->drain_ns ? o->drain_ns : o->timeout_ns,
		.seed = o->seed,
		.priority = o->threads.priority,
		.pin = o->threads.pin,
		.spin = o->spin,
		.preload = o->preload,
		.abort_on = o->abort_on,
		.bind = o->bind,
		.urls_file = o->urls_file,
		.spread = o->addresses,
		.commands = o->commands,
		.replay = o->replay.file,
	};
	load_request_config(&o->to, c);
	memcpy(c->targets, o->urls.items, o->urls.len * sizeof(*c->targets));
}

int load_options_config(const struct load_options *o, double rate, uint64_t duration_ns,
			struct load_config *config, struct load_analysis_config *analysis,
			struct strbuf *why)
{
	uint64_t duration = duration_ns ? duration_ns : o->max_time_ns;
	struct arrival arrival;
	struct abort_on_limits abort_on;
	char law[LOAD_LAW_MAX] = "";
	const char *text;
	int err = load_arrival_find(o->arrival, timed_replay(o, rate > 0), law, &text, &arrival,
				    why);

	if (!err)
		err = abort_on_parse(o->abort_on, &abort_on, why);
	if (!err && arrival.kind == ARRIVAL_FILE && o->loop == LOOP_OPEN)
		err = load_arrival_file_rate(&arrival, text == law, &duration, &rate, why);
	if (err)
		return err;
	load_options_engine(o, rate, config);
	memcpy(config->law, law, sizeof(law));
	config->arrival = text == law ? config->law : text;
	if (text == law)
		arrival.file += config->law - law;
	config->duration_ns = duration ? duration : LOAD_MAX_TIME_DEFAULT;
	if (!config->seed)
		err = load_default_seed(&config->seed);
	config->priority = load_hosts_asked(&o->hosts) ? PRIORITY_UNKNOWN :
							 scheduling_granted(config);
	*analysis = (struct load_analysis_config){
		.rate = o->loop == LOOP_OPEN ? rate : 1, /* unused in a closed loop */
		.arrival = arrival,
		.loop = o->loop,
		.stamps = o->stamps,
		.method = o->method ? o->method - 1 : METHOD_ALL,
		.agents = load_hosts_loading(&o->hosts) + load_hosts_probing(&o->hosts),
		.probes = load_hosts_probing(&o->hosts),
		.percentile = o->percentile > 0 ? o->percentile : LOAD_PERCENTILE_DEFAULT,
		.confidence = o->confidence > 0 ? o->confidence : LOAD_CONFIDENCE_DEFAULT,
		.ci_width_ns = o->ci_width_ns,
		.max_time_ns = config->duration_ns,
		.max_errors = o->max_errors,
		.excise = o->excise,
		.abort_on = abort_on,
	};
	return err;
}
