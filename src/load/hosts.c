/* SPDX-License-Identifier: Apache-2.0 */
#include "load/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NETNS "netns:"

bool load_hosts_asked(const struct load_hosts_options *o)
{
	return o->loading.len || o->probing.len;
}

/* Whether a name is valid: ssh must not read it as an option, and no shell may split it. */
static bool is_host(const char *name)
{
	if (!*name || *name == '-')
		return false;
	for (; *name; name++)
		if (!isgraph((unsigned char)*name) || strchr("'\"\\$`;&|<>(){}*?!", *name))
			return false;
	return true;
}

static int load_hosts_add(struct load_hosts *hosts, const char *text, size_t len, bool probes,
			  struct strbuf *why)
{
	struct load_host *host = &hosts->hosts[hosts->n];

	if (hosts->n == LOAD_AGENTS_MAX) {
		strbuf_printf(why, "too many agents: at most %d", LOAD_AGENTS_MAX);
		return -EINVAL;
	}
	snprintf(host->text, sizeof(host->text), "%.*s", (int)len, text);
	host->probes = probes;
	host->name = host->text;
	host->kind = !strcmp(host->text, "local") ? HOST_LOCAL : HOST_SSH;
	if (!strncmp(host->text, NETNS, strlen(NETNS))) {
		host->kind = HOST_NETNS;
		host->name += strlen(NETNS);
	}
	if (len >= sizeof(host->text) || !is_host(host->name)) {
		strbuf_printf(why, "--%s takes hosts, netns:NAME or local, not '%.*s'",
			      probes ? "latency-agents" : "agents", (int)len, text);
		return -EINVAL;
	}
	hosts->n++;
	hosts->probes += probes;
	return 0;
}

static int load_hosts_add_list(struct load_hosts *hosts, const struct opt_list *list, bool probes,
			       struct strbuf *why)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < list->len; i++) {
		const char *at = list->items[i];
		size_t len = strcspn(at, ",");

		err = load_hosts_add(hosts, at, len, probes, why);
		while (!err && at[len]) {
			at += len + 1;
			len = strcspn(at, ",");
			err = load_hosts_add(hosts, at, len, probes, why);
		}
	}
	return err;
}

int load_hosts_parse(struct load_hosts *hosts, const struct load_hosts_options *o,
		     struct strbuf *why)
{
	static const struct opt_list here = { .items = { "local" }, .len = 1 };
	int err;

	hosts->n = hosts->probes = 0;
	err = load_hosts_add_list(hosts, o->loading.len ? &o->loading : &here, false, why);
	return err ? err : load_hosts_add_list(hosts, &o->probing, true, why);
}

static uint32_t load_hosts_count(const struct opt_list *list)
{
	uint32_t n = list->len;

	for (uint32_t i = 0; i < list->len; i++)
		for (const char *at = list->items[i]; *at; at++)
			n += *at == ',';
	return n;
}

uint32_t load_hosts_loading(const struct load_hosts_options *o)
{
	return o->loading.len ? load_hosts_count(&o->loading) : 1;
}

uint32_t load_hosts_probing(const struct load_hosts_options *o)
{
	return load_hosts_count(&o->probing);
}
