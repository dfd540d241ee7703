/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_scope.h"

#include <string.h>

#include "base/parse.h"
#include "cmd/recorded_file.h"
#include "cmd/run_facts.h"
#include "cmd/live_options.h"
#include "conns/view.h"
#include "load/setup.h"

struct wanted {
	const char *key;
	uint64_t *value;
};

static int conns_scope_read_fact(void *ctx, const struct event *event)
{
	const struct wanted *wanted = ctx;
	const char *key, *value;

	if (event->kind != EV_FACT)
		return 0;
	event_fact_get(event, &key, &value);
	if (!strcmp(key, wanted->key) && parse_u64(value, wanted->value))
		*wanted->value = 0;
	return 0;
}

struct targets {
	bool any, tcp;
};

/* Notes by their URLs whether any targets are reached by TCP. */
static int conns_scope_read_target(void *ctx, const struct event *event)
{
	struct targets *targets = ctx;
	const char *key, *url;

	if (event->kind != EV_FACT)
		return 0;
	event_fact_get(event, &key, &url);
	if (strcmp(key, LOAD_FACT_TARGET) != 0)
		return 0;
	targets->any = true;
	targets->tcp |= strncmp(url, "udp+", 4) != 0 && strncmp(url, "r2p2", 4) != 0 &&
			strncmp(url, "null:", 5) != 0 && !strstr(url, "+unix:");
	return 0;
}

int conns_scope_read(struct conns_scope *scope, struct event_reader *server,
		     struct event_reader *load)
{
	struct wanted port = { LIVE_FACT_PORT, &scope->port };
	struct wanted pid = { FACT_RUN_PID, &scope->pid };
	struct targets targets = { 0 };
	int err;

	*scope = (struct conns_scope){ 0 };
	err = recorded_file_events(server, conns_scope_read_fact, &port);
	if (err >= 0)
		err = recorded_file_events(load, conns_scope_read_fact, &pid);
	if (err >= 0)
		err = recorded_file_events(load, conns_scope_read_target, &targets);
	scope->no_tcp = targets.any && !targets.tcp;
	return err;
}

/*
 * Returns whether the connection is a client's end without a known process whose other end, on this
 * host, has the run's server port.
 */
static bool conns_scope_lacks_owner(const struct conn_view *view, const struct conns_scope *scope)
{
	return !view->c->pid && view->joined && view->flow->remote_port == scope->port;
}

bool conns_scope_selects(const struct conn_view *view, void *ctx)
{
	const struct conns_scope *scope = ctx;

	if (scope->pid && view->c->pid == scope->pid)
		return true;
	return view->flow && scope->port &&
	       (view->flow->local_port == scope->port || conns_scope_lacks_owner(view, scope));
}
