/* SPDX-License-Identifier: Apache-2.0 */
#include "load/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parse.h"
#include "load/addresses.h"
#include "load/cluster_ask.h"
#include "load/conn_redirect.h"
#include "load/engine_nics.h"
#include "load/engine_source.h"
#include "load/login.h"
#include "load/reach.h"
#include "load/replay.h"
#include "load/resp_command.h"
#include "load/route.h"
#include "load/scheduling.h"
#include "load/setup.h"
#include "load/target_urls.h"
#include "load/worker.h"
#include "load/worker_memory.h"

/*
 * File descriptors in addition to connections: epoll, timers, files of the engine and the caller.
 */
#define FILES_SPARE 64
#define FILES_PER_THREAD 8
/* Time between the two readings of a NIC's clock that give the rate of this clock. */
#define NIC_BASELINE_NS (100 * NS_PER_MS)

struct load_engine {
	struct load_config config;
	struct url_list urls;
	struct load_target *targets;
	uint32_t n_targets;          /* urls.n_targets or, in a cluster, the number of its nodes */
	struct cluster *cluster;     /* NULL: no cluster */
	uint32_t *dealt;             /* number of the target of each connection */
	struct statuses expect;
	struct schedule schedule;
	struct replay *replay;       /* recorded requests (--replay); NULL: none */
	struct sources sources;
	struct net_tls_context *tls;
	struct engine_nics nics;
	struct load_thread *threads;
	struct engine_source *source;
	int notify;
	uint32_t running; /* number of threads that were started */
	int command;      /* enum load_thread_command, read by all threads; atomic */
};

/* ---- targets ---- */

static int engine_refuse(struct strbuf *why, const char *text)
{
	strbuf_puts(why, text);
	return -EINVAL;
}

static int engine_check(const struct load_config *c, struct strbuf *why)
{
	if ((!c->n_targets && !c->urls_file) || c->n_targets > LOAD_TARGETS_MAX)
		return engine_refuse(why, "there must be 1 to 64 targets");
	if (!c->threads || c->threads > LOAD_THREADS_MAX)
		return engine_refuse(why, "there must be 1 to 64 threads");
	if (c->connections < c->threads || c->connections > LOAD_CONNECTIONS_MAX)
		return engine_refuse(why, "there must be a connection for each thread, and at most "
					  "1000000 in all");
	if (!c->outstanding || c->outstanding > LOAD_OUTSTANDING_MAX)
		return engine_refuse(why, "a connection may have 1 to 1024 requests outstanding");
	if (!c->timeout_ns || !c->duration_ns)
		return engine_refuse(why, "the duration and the timeout must not be 0");
	return 0;
}

/* Kernel and NIC stamps need packets, which Unix sockets and null: do not have. */
static int check_stamps(const struct load_config *config, const char *url,
			const struct load_target *target, struct strbuf *why)
{
	if (config->stamps == STAMPS_USER ||
	    (!target->target.unix_socket && !target->protocol->no_network))
		return 0;
	strbuf_printf(why, "%s with --timestamps %s: there are no packets to stamp; use "
		      "--timestamps user", url, config->stamps == STAMPS_NIC ? "nic" : "kernel");
	return -EINVAL;
}

/*
 * Drops addresses of families that --bind has no address of. Returns 0, or -EADDRNOTAVAIL with a
 * sentence in `why` if none is left.
 */
static int engine_drop_unreached(const struct sources *sources, struct load_target *target,
				 struct strbuf *why)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < target->n_addresses; i++) {
		if (sources_reach(sources, target->addresses[i].addr.ss_family))
			target->addresses[n++] = target->addresses[i];
	}
	if (!n)
		strbuf_printf(why, "--bind: %s has only IPv%d addresses: bind to an address of "
			      "this kind", target->host, sources->v4.n ? 6 : 4);
	target->n_addresses = n;
	return n ? 0 : -EADDRNOTAVAIL;
}

/* Resolves the target's name; done once, before the run. */
static int engine_resolve(const struct load_engine *e, struct load_target *target,
			  struct strbuf *why)
{
	const struct load_config *config = &e->config;
	const struct net_resolving patient = { .stop_fd = -1 };
	const char *connect_to = config->request.connect_to;
	int n;

	if (target->protocol->no_network)
		return 0;
	if (target->target.unix_socket) {
		n = net_unix_address(target->target.host, &target->addresses[0]);
		if (n)
			strbuf_printf(why, "%s: the path is too long", target->target.host);
		target->n_addresses = 1;
		return n;
	}
	snprintf(target->host, sizeof(target->host), "%s", target->target.host);
	snprintf(target->port, sizeof(target->port), "%s", target->target.port);
	if (connect_to && request_options_split(connect_to, target->host, target->port))
		return -EINVAL;
	n = net_resolve_while(config->resolving ? config->resolving : &patient, target->host,
			      target->port, target->protocol->datagram, target->addresses, why);
	target->n_addresses = n > 0 ? n : 0;
	return n < 0 ? n : engine_drop_unreached(&e->sources, target, why);
}

/* Parses the commands, which make up the target's requests. */
static int init_commands(const struct load_config *config, struct load_target *target,
			 struct strbuf *why)
{
	size_t size = 0;
	int err = resp_commands_new(&target->commands, &config->commands, why);

	if (!err && target->commands)
		err = resp_commands_size(target->commands, &target->workload, &size, why);
	target->workload.commands = target->commands;
	if (size > target->request_max)
		target->request_max = size;
	return err;
}

static int init_replay(const struct replay *replay, struct load_target *target,
		       struct strbuf *why)
{
	if (!replay)
		return 0;
	target->workload.replay = replay;
	target->request_max = replay_request_max(replay) + target->workload.request_overhead;
	return replay_check(replay, &target->target, &target->workload, why);
}

static int init_target(struct load_engine *e, uint32_t i, struct strbuf *why)
{
	const struct load_config *config = &e->config;
	struct load_target *target = &e->targets[i];
	const struct net_tls_config tls = {
		.insecure = config->insecure, .ca_file = config->ca_file,
		.cert_file = config->cert_file, .key_file = config->key_file,
		.resumption = config->request.tls_resumption == TLS_RESUMPTION_YES,
	};
	const char *url = e->urls.targets[i].url;
	int err = target_parse(url, &target->target, why);

	if (err)
		return err;
	target->target.options = &config->request;
	target->protocol = target->target.protocol;
	err = login_read(&target->target, why);
	if (err)
		return err;
	err = workload_parse(&target->workload, config->workload, &target->target, why);
	if (err)
		return err;
	target->request_max = workload_request_max(&target->workload);
	err = target_urls_init(target, &e->urls, i, why);
	if (!err)
		err = init_commands(config, target, why);
	if (!err)
		err = init_replay(e->replay, target, why);
	if (err)
		return err;
	if (target->protocol->greet)
		target->greeting_size = target->protocol->greet(&target->target, target->greeting,
								&target->greeting_replies);
	if (target->protocol->tls && !e->tls)
		err = net_tls_context_new(&e->tls, &tls, why);
	if (!err)
		err = check_stamps(config, url, target, why);
	return err ? err : engine_resolve(e, target, why);
}

/* ---- the nodes of a cluster ---- */

/* Refuses what a run of a cluster cannot do. */
static int engine_check_cluster(const struct load_engine *e, struct strbuf *why)
{
	const struct load_config *c = &e->config;
	bool any = false;

	for (uint32_t i = 0; i < e->urls.n_targets; i++)
		any |= e->targets[i].target.cluster;
	if (any && e->urls.n_targets > 1)
		return engine_refuse(why, "a cluster (?cluster=1) must be the only "
					"server of a run");
	if (any && c->request.connect_to)
		return engine_refuse(why, "--connect-to cannot be combined with ?cluster=1: the "
					  "cluster names the addresses of its nodes");
	return 0;
}

static int engine_check_nodes(const struct load_engine *e, struct strbuf *why)
{
	const struct load_config *c = &e->config;
	const uint32_t nodes = e->cluster->n_nodes;

	if (c->connections / c->threads >= nodes)
		return 0;
	strbuf_printf(why, "each thread needs a connection to each of the %u masters of the "
		      "cluster: use --connections %u or more%s", nodes, nodes * c->threads,
		      c->threads > 1 ? ", or fewer --threads" : "");
	return -EINVAL;
}

/* Makes a target of each node. All share the memory of the first one. */
static int engine_make_nodes(struct load_engine *e, struct strbuf *why)
{
	const uint32_t n = e->cluster->n_nodes;
	struct load_target *targets = realloc(e->targets, n * sizeof(*targets));
	int err = 0;

	if (!targets)
		return -ENOMEM;
	e->targets = targets;
	targets->request_max += sizeof(CONN_REDIRECT_ASKING) - 1;
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct cluster_node *node = &e->cluster->nodes[i];
		struct load_target *target = &targets[i];

		if (i)
			*target = targets[0];
		snprintf(target->target.host, sizeof(target->target.host), "%s", node->host);
		snprintf(target->target.port, sizeof(target->target.port), "%u", node->port);
		err = engine_resolve(e, target, why);
	}
	e->n_targets = n;
	return err;
}

/* Replaces the target by the nodes of the cluster that it is a node of, if the URL asks for it. */
static int engine_find_nodes(struct load_engine *e, struct strbuf *why)
{
	const struct net_resolving *resolving = e->config.resolving;
	const struct cluster_ask ask = {
		.target = e->targets, .sources = &e->sources,
		.tls = e->targets->protocol->tls ? e->tls : NULL,
		.sni = e->config.request.sni, .timeout_ns = e->config.timeout_ns,
		.stop_fd = resolving ? resolving->stop_fd : -1,
	};
	int err = engine_check_cluster(e, why);

	if (err || !e->targets->target.cluster)
		return err;
	err = cluster_ask(&e->cluster, &ask, why);
	if (!err)
		err = engine_check_nodes(e, why);
	return err ? err : engine_make_nodes(e, why);
}

/* ---- schedule, connections, threads ---- */

static int make_schedule(struct load_engine *e, struct strbuf *why)
{
	const struct load_config *c = &e->config;
	struct arrival arrival;
	int err;

	if (c->loop == LOOP_CLOSED)
		return 0;
	err = arrival_parse(c->arrival, &arrival, why);
	if (err)
		return err;
	return schedule_make(&e->schedule, &arrival, c->rate, c->duration_ns, c->seed, why);
}

static int raise_files(const struct load_config *c, struct strbuf *why)
{
	const rlim_t need = c->connections + c->threads * FILES_PER_THREAD + FILES_SPARE;
	struct rlimit limit, most;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	if (limit.rlim_cur >= need)
		return 0;
	most = limit;
	limit.rlim_cur = need;
	if (limit.rlim_max < need)
		limit.rlim_max = need;
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	strbuf_printf(why, "%u connections need %llu open files, but this process may open only "
		      "%llu; raise the limit with ulimit -n", c->connections,
		      (unsigned long long)need, (unsigned long long)most.rlim_max);
	return -EMFILE;
}

/* Deals the connections to the targets. Returns 0, -ENOMEM, or -EINVAL with a sentence in `why`. */
static int engine_deal(struct load_engine *e, struct strbuf *why)
{
	const struct load_config *c = &e->config;

	if (c->urls_file && c->connections < e->urls.n_targets) {
		strbuf_printf(why, "%u connections are too few for the %u servers of --urls %s",
			      c->connections, e->urls.n_targets, c->urls_file);
		return -EINVAL;
	}
	e->dealt = target_urls_deal(&e->urls, c->connections);
	return e->dealt ? 0 : -ENOMEM;
}

/* Assigns connections to threads in turn, and to targets as dealt. */
static int init_conns(struct load_engine *e, struct load_thread *t)
{
	const uint32_t threads = e->config.threads;
	uint32_t i;
	int err = 0;

	for (i = 0; i < t->n_conns && !err; i++) {
		const uint32_t n = i * threads + t->index, turn = n / e->urls.n_targets;
		struct load_conn *c = &t->conns[i];

		c->target = &e->targets[e->cluster ? c->pool - t->pools : e->dealt[n]];
		c->source = turn;
		/* Each address of the target is used from each address of this host. */
		if (e->config.spread && c->target->n_addresses) {
			c->address = turn % c->target->n_addresses;
			c->source = turn / c->target->n_addresses;
		}
		if (c->target->protocol->tls)
			err = net_tls_new(&c->stream.tls, e->tls,
					  e->config.request.sni ?: c->target->target.host,
					  c->target->protocol->session ? "h2" : NULL);
	}
	return err;
}

static int init_thread(struct load_engine *e, uint32_t i)
{
	const struct load_config *c = &e->config;
	struct load_thread *t = &e->threads[i];
	size_t request_max = 0;
	uint32_t k;
	int err;

	for (k = 0; k < e->n_targets; k++) {
		if (e->targets[k].request_max > request_max)
			request_max = e->targets[k].request_max;
	}
	t->config = c;
	t->schedule = &e->schedule;
	t->expect = &e->expect;
	t->command = &e->command;
	t->index = i;
	t->n_conns = c->connections / c->threads + (i < c->connections % c->threads);
	t->notify = e->notify;
	t->cpu = c->pin ? scheduling_nth_cpu(i) : -1;
	t->sources = &e->sources;
	t->nics = e->nics.list;
	t->n_nics = e->nics.n;
	t->n_pools = e->cluster ? e->n_targets : 1;
	t->cluster.nodes = e->cluster ? e->n_targets : 0;
	err = worker_memory_init(t, request_max);
	t->wait.spin = c->spin;
	if (!err && e->cluster)
		err = route_new(t, e->cluster, e->targets);
	return err ? err : init_conns(e, t);
}

static int engine_put_facts(struct load_engine *e)
{
	const uint64_t now = clock_now();
	struct event_sink *sink = engine_source_sink(e->source);
	uint32_t i;
	int err = 0;

	err = load_setup_put_targets(sink, now, &e->urls);
	for (i = 0; i < e->nics.n && !err; i++)
		err = event_put_fact(sink, now, LOAD_FACT_NIC, e->nics.list[i].name);
	return err ? err : cluster_counts_put(&e->threads->cluster, sink, now);
}

static int init_engine(struct load_engine *e, struct strbuf *why)
{
	const struct load_config *c = &e->config;
	uint32_t i;
	int err = engine_check(c, why);

	if (!err)
		err = statuses_parse(c->expect, &e->expect, why);
	if (!err)
		err = sources_parse(c->bind, &e->sources, why);
	if (!err)
		err = sources_check(&e->sources, c->bind_any, why);
	if (err)
		return err;
	e->notify = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (e->notify < 0)
		return -errno;
	err = url_list_make(&e->urls, c->targets, c->n_targets, c->urls_file, why);
	if (!err)
		err = engine_deal(e, why);
	if (!err && c->replay)
		err = replay_read(&e->replay, c, why);
	if (err)
		return err;
	e->targets = calloc(e->urls.n_targets, sizeof(*e->targets));
	e->threads = aligned_alloc(64, c->threads * sizeof(*e->threads));
	if (!e->targets || !e->threads)
		return -ENOMEM;
	e->n_targets = e->urls.n_targets;
	memset(e->threads, 0, c->threads * sizeof(*e->threads));
	for (i = 0; i < e->urls.n_targets && !err; i++)
		err = init_target(e, i, why);
	if (!err)
		err = engine_find_nodes(e, why);
	if (!err && c->stamps == STAMPS_NIC)
		err = engine_nics_init(&e->nics, e->targets, e->n_targets, why);
	if (!err)
		err = raise_files(c, why);
	if (!err)
		err = make_schedule(e, why);
	for (i = 0; i < c->threads && !err; i++)
		err = init_thread(e, i);
	if (!err)
		err = engine_source_new(&e->source, e->threads, c->threads, c->agent);
	if (!err && e->nics.n)
		clock_sleep_until(clock_system(),
				  clock_now() + NIC_BASELINE_NS);
	return err ? err : engine_put_facts(e);
}

int load_engine_new(struct load_engine **out, const struct load_config *config,
		    struct strbuf *why)
{
	struct load_engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->config = *config;
	e->notify = -1;
	err = init_engine(e, why);
	if (err)
		load_engine_free(e);
	else
		*out = e;
	return err;
}

/* ---- connect ---- */

int load_engine_connect(struct load_engine *e, int stop_fd, struct strbuf *why)
{
	struct load_thread *t;
	int err = reach_connect(e->threads, e->config.threads, stop_fd, why);

	if (!err && e->config.preload)
		err = reach_preload(e->threads, e->config.threads, stop_fd, why);
	if (!err)
		err = addresses_put(&(struct addresses){
			.threads = e->threads, .n_threads = e->config.threads,
			.targets = e->targets, .n_targets = e->n_targets,
		}, engine_source_sink(e->source));
	for (t = e->threads; t < e->threads + e->config.threads; t++) {
		t->count = (struct event_load){ .connects = t->count.connects };
		t->causes = (struct causes){ 0 };
		t->cluster = (struct cluster_counts){ .nodes = t->cluster.nodes };
		hist_reset(&t->dial_times.of[DIAL_RECONNECT]);
		t->phase = PHASE_RUN;
		t->taken = 0;
	}
	return err;
}

/* ---- run ---- */

int load_engine_start(struct load_engine *e, int64_t start_mono_ns)
{
	struct load_thread *t;
	uint32_t i;
	int err = 0;

	for (i = 0; i < e->config.threads && !err; i++) {
		t = &e->threads[i];
		t->start_ns = start_mono_ns;
		err = -pthread_create(&t->pthread, NULL, worker_run, t);
		e->running += !err;
	}
	return err;
}

int load_engine_wait(struct load_engine *e, int stop_fd, uint64_t timeout_ns)
{
	const struct timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S,
	};
	struct pollfd fds[] = {
		{ .fd = e->notify, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN },
	};
	uint64_t count;
	int n = ppoll(fds, 2, &ts, NULL);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[1].revents)
		return -EINTR;
	return n && read(e->notify, &count, sizeof(count)) > 0;
}

void load_engine_stop(struct load_engine *e)
{
	__atomic_store_n(&e->command, LOAD_STOP, __ATOMIC_RELAXED);
}

void load_engine_cut(struct load_engine *e)
{
	__atomic_store_n(&e->command, LOAD_CUT, __ATOMIC_RELAXED);
}

struct event_source *load_engine_source(struct load_engine *e)
{
	return engine_source_events(e->source);
}

static void engine_join_threads(struct load_engine *e)
{
	uint32_t i;

	__atomic_store_n(&e->command, LOAD_ABANDON, __ATOMIC_RELAXED);
	for (i = 0; i < e->running; i++)
		pthread_join(e->threads[i].pthread, NULL);
}

void load_engine_free(struct load_engine *e)
{
	uint32_t i;

	if (!e)
		return;
	engine_join_threads(e);
	for (i = 0; e->threads && i < e->config.threads; i++)
		worker_memory_release(&e->threads[i]);
	for (i = 0; e->targets && i < e->urls.n_targets; i++) {
		target_urls_release(&e->targets[i]);
		workload_release(&e->targets[i].workload);
		resp_commands_free(e->targets[i].commands);
	}
	url_list_release(&e->urls);
	replay_free(e->replay);
	free(e->dealt);
	free(e->cluster);
	engine_source_free(e->source);
	schedule_release(&e->schedule);
	net_tls_context_free(e->tls);
	engine_nics_release(&e->nics);
	if (e->notify >= 0)
		close(e->notify);
	free(e->threads);
	free(e->targets);
	free(e);
}
