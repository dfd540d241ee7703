/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/run_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/version.h"
#include "clock/clock.h"
#include "cmd/recorded_file.h"
#include "host/facts_collect.h"

int run_facts_put(struct event_sink *sink, uint64_t now)
{
	char host[256] = "", started[24], pid[24];
	int err;

	gethostname(host, sizeof(host) - 1);
	snprintf(started, sizeof(started), "%" PRId64, clock_real_ns(clock_system()));
	err = event_put_fact(sink, now, FACT_VERSION, hostlat_version());
	if (!err)
		err = event_put_fact(sink, now, FACT_HOST, host);
	if (!err)
		err = event_put_fact(sink, now, FACT_STARTED, started);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return err ? err : event_put_fact(sink, now, FACT_RUN_PID, pid);
}

int run_facts_put_host(struct event_sink *sink, uint64_t now)
{
	struct host_facts facts;
	int err = host_facts_collect(NULL, &facts);

	for (size_t i = 0; !err && i < facts.len; i++)
		err = event_put_fact(sink, now, facts.items[i].key, facts.items[i].value);
	host_facts_release(&facts);
	return err;
}

static int run_facts_feed_pid(void *pid, const struct event *event)
{
	const char *key, *value;

	if (event->kind != EV_FACT)
		return 0;
	event_fact_get(event, &key, &value);
	if (!strcmp(key, FACT_RUN_PID) && parse_u64(value, pid))
		*(uint64_t *)pid = 0;
	return 0;
}

int run_facts_read_pid(struct event_reader *reader, uint64_t *pid)
{
	*pid = 0;
	return recorded_file_events(reader, run_facts_feed_pid, pid);
}

void run_facts_feed(struct run_facts *facts, const char *key, const char *value)
{
	if (!strcmp(key, FACT_HOST))
		snprintf(facts->host, sizeof(facts->host), "%s", value);
	else if (!strcmp(key, FACT_VERSION))
		snprintf(facts->version, sizeof(facts->version), "%s", value);
	else if (!strcmp(key, FACT_KERNEL))
		snprintf(facts->kernel, sizeof(facts->kernel), "%s", value);
	else if (!strcmp(key, FACT_STARTED))
		parse_u64(value, &facts->started_ns);
}

struct provenance run_facts_provenance(const struct run_facts *facts, const char *command,
				       unsigned int schema)
{
	return (struct provenance){
		.version = facts->version, .command = command, .schema = schema,
		.host = facts->host, .started_ns = facts->started_ns,
	};
}
