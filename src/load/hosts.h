/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to make load in this process's place: the options that name agents. */
#ifndef HOSTLAT_LOAD_HOSTS_H
#define HOSTLAT_LOAD_HOSTS_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/strbuf.h"
#include "load/config.h"

struct load_hosts_options {
	/* an item may name several, separated by commas */
	struct opt_list loading, probing;
	const char *command; /* NULL: LOAD_HOSTS_COMMAND */
};

#define LOAD_HOSTS_COMMAND "hostlat"

#define LOAD_HOST_MAX 256

enum load_host_kind {
	HOST_LOCAL, /* here */
	HOST_NETNS, /* here, in another network namespace */
	HOST_SSH,
};

/* One agent. */
struct load_host {
	enum load_host_kind kind;
	bool probes;               /* a latency agent */
	char text[LOAD_HOST_MAX];  /* as it was given */
	const char *name;          /* in `text`: the namespace or the ssh host */
};

struct load_hosts {
	struct load_host hosts[LOAD_AGENTS_MAX]; /* those that load come first; `name` points in */
	uint32_t n, probes;
};

/* False: this process makes the load itself. */
bool load_hosts_asked(const struct load_hosts_options *o);

/*
 * All agents. Latency agents alone are beside one that loads here. Returns 0, or -EINVAL and `why`.
 * Not to be moved then.
 */
int load_hosts_parse(struct load_hosts *hosts, const struct load_hosts_options *o,
		     struct strbuf *why);

/* How many of valid options load (1: this process does) and how many are latency agents. */
uint32_t load_hosts_loading(const struct load_hosts_options *o);
uint32_t load_hosts_probing(const struct load_hosts_options *o);

#endif
