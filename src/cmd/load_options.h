/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that define the load and its analysis, and their conversion to configs. All commands
 * that generate load share them.
 */
#ifndef HOSTLAT_CMD_LOAD_OPTIONS_H
#define HOSTLAT_CMD_LOAD_OPTIONS_H

#include "base/opt.h"
#include "base/strbuf.h"
#include "base/privilege.h"

/*
 * Privileges for NIC time stamps and busy polling of latency agents, for a higher limit of open
 * files, and for high priority.
 */
#define LOAD_PRIVILEGES                                                                            \
	(PRIVILEGE(CAP_NET_ADMIN) | PRIVILEGE(CAP_SYS_RESOURCE) | PRIVILEGE(CAP_SYS_NICE))
/* Privileges for agents in other network namespaces. */
#define LOAD_PRIVILEGES_NETNS (PRIVILEGE(CAP_SYS_ADMIN) | PRIVILEGE(CAP_SYS_PTRACE))
#include "cmd/load_arrival.h"
#include "cmd/load_request.h"
#include "load/analysis.h"
#include "load/config.h"
#include "load/hosts.h"

/* The help of --rate of load and explain. */
#define LOAD_RATE_HELP                                                                             \
	"Requests per second (default: half of the rate that one connection reaches with one "     \
	"request at a time, at most 10k)"

/* The threads that send requests. */
struct load_thread_options {
	uint64_t count;    /* 0: by default */
	uint32_t priority; /* enum load_priority */
	bool pin;          /* each on a CPU of its own */
};

extern const struct opt load_thread_option_rows[];

#define OPTIONS_LOAD_THREADS(config, member)                                                       \
	OPT_ROWS(config, member, struct load_thread_options, load_thread_option_rows)

/* Values of the options; 0 or NULL: not given. */
struct load_options {
	struct opt_list urls;
	double rate;
	double rate_probed; /* rate that one connection reached, if --rate was chosen by that */
	const char *arrival, *workload;
	uint32_t loop, stamps;
	uint64_t connections, outstanding, requests_per_connection;
	struct load_thread_options threads;
	uint64_t max_time_ns, timeout_ns, drain_ns, seed;
	bool spin, preload;
	const char *abort_on, *bind, *urls_file;
	uint32_t addresses; /* 1: all addresses of a name; 0: the first that works */
	struct load_request_options to;
	struct opt_list commands; /* Redis */
	struct load_replay_options replay;
	/* Options of the analysis. `method` is an enum load_method + 1, since 0 is "not given". */
	uint32_t method;
	double percentile, confidence, max_errors;
	bool excise;
	uint64_t ci_width_ns;
	/* Hosts of agents; their options are in load_hosts_option_rows, not in load_option_rows. */
	struct load_hosts_options hosts;
};

/* Valid values of the argument URL. */
#define LOAD_TARGET_TAKES                                                                          \
	"memcached://HOST:PORT, redis://, http://, https://, h2://, grpc://, echo://, "            \
	"udp+memcached://, r2p2://, null:, or SCHEME+unix://PATH"

extern const struct opt load_hosts_option_rows[];

#define OPTIONS_LOAD_HOSTS(config, member)                                                         \
	OPT_ROWS(config, member, struct load_hosts_options, load_hosts_option_rows)

#define LOAD_HOSTS_ROWS "agents,latency-agents,agent-command"

extern const struct opt load_option_rows[];

#define OPTIONS_LOAD(config, member)                                                               \
	OPT_ROWS(config, member, struct load_options, load_option_rows)

/*
 * Names of the options that only a live run can use. --from, which reads a recording, has them as
 * its `excludes`: it cannot be combined with them.
 */
#define LOAD_OPTIONS_MEASURING                                                                     \
	"rate,arrival,workload,loop,timestamps,connections,outstanding,threads,"                   \
	"requests-per-connection,for,timeout,drain,seed,priority,pin,spin,preload,command,"   \
	"ci-width,max-errors,abort-on,bind,addresses,urls," LOAD_REPLAY_ROWS ","                   \
	LOAD_REQUEST_ROWS "," LOAD_HOSTS_ROWS

/* Default values of --for, --percentile and --confidence. */
#define LOAD_MAX_TIME_DEFAULT (60 * NS_PER_S)
#define LOAD_PERCENTILE_DEFAULT 0.99
#define LOAD_CONFIDENCE_DEFAULT 0.95

/* Returns whether the load has no rate: neither --rate nor what `rate_known` says or times have. */
bool load_options_lacks_rate(const struct load_options *o, bool rate_known);

/*
 * Checks combinations of options. Returns 0, -EINVAL (bad usage) or the error of reading a file,
 * with a sentence for the user in `why`. `rate_known`: the rate does not come from --rate. A rate
 * that is lacking is accepted where load_rate_probe() can choose one.
 */
int load_options_check(const struct load_options *o, bool rate_known, struct strbuf *why);

/*
 * Refuses options that have no effect in combination with the others. `against` is the second URL,
 * or NULL. Returns 0 or an error with a sentence in `why`, as load_options_check() does.
 */
int load_options_useful(const struct load_options *o, const char *against, struct strbuf *why);

/*
 * Fills in `config` (load generator) and `analysis` for a run of this rate and length. A length of
 * 0 means that of the options, or of the file of --arrival. Borrows strings from the options.
 * Returns 0 or an error with a sentence in `why`, as load_options_check() does.
 */
int load_options_config(const struct load_options *o, double rate, uint64_t duration_ns,
			struct load_config *config, struct load_analysis_config *analysis,
			struct strbuf *why);

#endif
