/* SPDX-License-Identifier: Apache-2.0 */
/* The options that name agents, which generate the load instead of this process. */
#ifndef HOSTLAT_LOAD_HOSTS_H
#define HOSTLAT_LOAD_HOSTS_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/strbuf.h"
#include "load/config.h"

struct load_hosts_options {
	/*
	 * Hosts of agents that generate load, and of agents that measure latency. An item of a list
	 * may name several hosts, separated by commas.
	 */
	struct opt_list loading, probing;
	const char *command; /* command that starts an agent; NULL: LOAD_HOSTS_COMMAND */
};

#define LOAD_HOSTS_COMMAND "hostlat"

#define LOAD_HOST_MAX 256

enum load_host_kind {
	HOST_LOCAL, /* the agent runs on this host */
	HOST_NETNS, /* the agent runs on this host, in another network namespace */
	HOST_SSH,
};

/* A host that runs an agent, a process that generates load or measures latency. */
struct load_host {
	enum load_host_kind kind;
	bool probes;               /* the agent measures latency instead of generating load */
	char text[LOAD_HOST_MAX];  /* the host as in the option, such as "netns:NAME" */
	const char *name;          /* the namespace or ssh host; points into `text` */
};

struct load_hosts {
	struct load_host hosts[LOAD_AGENTS_MAX]; /* hosts of latency agents come last */
	uint32_t n, probes;
};

/* Returns whether agents are given; if not, this process generates the load itself. */
bool load_hosts_asked(const struct load_hosts_options *o);

/*
 * Parses the options that name agents. If only latency agents are given, a local agent generates
 * the load. Returns 0, or -EINVAL with a sentence in `why`. The result must not be moved.
 */
int load_hosts_parse(struct load_hosts *hosts, const struct load_hosts_options *o,
		     struct strbuf *why);

/* Return the numbers of agents that generate load (1 without agents) or measure latency. */
uint32_t load_hosts_loading(const struct load_hosts_options *o);
uint32_t load_hosts_probing(const struct load_hosts_options *o);

#endif
