/* SPDX-License-Identifier: Apache-2.0 */
#include "load/agent_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "load/polled.h"
#include "load/scheduling.h"
#include "load/setup.h"
#include "report/human.h"

#define NAMES_SHOWN 4 /* agents that a line names */

/* Returns the name of an enum load_role, or NULL if there is no such role. */
static const char *role_name(uint32_t role)
{
	static const char *const names[] = {
		[ROLE_SYMMETRIC] = "symmetric", [ROLE_THROUGHPUT] = "throughput",
		[ROLE_LATENCY] = "latency",
	};

	return role < ARRAY_LEN(names) ? names[role] : NULL;
}

/* Returns the enum load_priority of that name, or PRIORITY_UNKNOWN. */
static uint32_t agent_list_find_priority(const char *name)
{
	uint32_t i = 0;

	while (i < PRIORITY_UNKNOWN && strcmp(scheduling_priorities[i], name) != 0)
		i++;
	return i;
}

/* Parses "GRANTED ASKED". Returns 0, or -EBADMSG. */
static int agent_list_parse_priorities(const char *value, uint32_t *granted, uint32_t *asked)
{
	char names[2][16];
	int end = 0;

	if (sscanf(value, "%15s %15s%n", names[0], names[1], &end) != 2 || value[end])
		return -EBADMSG;
	*granted = agent_list_find_priority(names[0]);
	*asked = agent_list_find_priority(names[1]);
	return *granted == PRIORITY_UNKNOWN || *asked == PRIORITY_UNKNOWN ? -EBADMSG : 0;
}

/* ---- facts ---- */

int agent_list_put_agent(struct event_sink *sink, uint64_t now, uint32_t agent, uint32_t role,
			 const char *name)
{
	char text[AGENT_LIST_TEXT_MAX + 32];

	snprintf(text, sizeof(text), "%" PRIu32 " %s %s", agent, role_name(role), name);
	return event_put_fact(sink, now, LOAD_FACT_AGENT, text);
}

int agent_list_put_clock(struct event_sink *sink, uint64_t now, uint32_t agent,
			 const struct offset *offset)
{
	char text[96];

	snprintf(text, sizeof(text), "%" PRIu32 " %" PRId64 " %" PRIu64, agent, offset->ns,
		 offset->error_ns);
	return event_put_fact(sink, now, LOAD_FACT_AGENT_CLOCK, text);
}

int agent_list_put_polled(struct event_sink *sink, uint64_t now, uint32_t agent, const char *value)
{
	const char *why;
	uint64_t packets;
	char text[64];

	if (polled_parse(value, &packets, &why))
		return 0;
	snprintf(text, sizeof(text), "%" PRIu32 " %s", agent, value);
	return event_put_fact(sink, now, LOAD_FACT_AGENT_POLLED, text);
}

int agent_list_put_priority(struct event_sink *sink, uint64_t now, uint32_t agent,
			    const char *value)
{
	uint32_t granted, asked;
	char text[64];

	if (agent_list_parse_priorities(value, &granted, &asked))
		return 0;
	snprintf(text, sizeof(text), "%" PRIu32 " %s %s", agent, scheduling_priorities[granted],
		 scheduling_priorities[asked]);
	return event_put_fact(sink, now, LOAD_FACT_AGENT_PRIORITY, text);
}

static int agent_list_read_agent(struct agent_list *list, const char *value)
{
	struct agent_list_entry *e;
	char role[16];
	uint32_t agent;
	int name = 0;

	if (sscanf(value, "%" SCNu32 " %15s %n", &agent, role, &name) != 2 || !name)
		return -EBADMSG;
	if (agent >= LOAD_AGENTS_MAX)
		return -EBADMSG;
	list->n = agent >= list->n ? agent + 1 : list->n;
	e = &list->agents[agent];
	for (e->role = 0; role_name(e->role); e->role++)
		if (!strcmp(role_name(e->role), role))
			break;
	if (!role_name(e->role))
		return -EBADMSG;
	e->known = true;
	snprintf(e->name, sizeof(e->name), "%s", value + name);
	return 0;
}

static int agent_list_read_clock(struct agent_list *list, const char *value)
{
	struct agent_list_entry *e;
	uint64_t error_ns;
	int64_t offset_ns;
	uint32_t agent;

	if (sscanf(value, "%" SCNu32 " %" SCNd64 " %" SCNu64, &agent, &offset_ns, &error_ns) != 3)
		return -EBADMSG;
	if (agent >= list->n)
		return -EBADMSG;
	e = &list->agents[agent];
	e->clock_known = true;
	e->offset_ns = offset_ns;
	e->error_ns = error_ns;
	return 0;
}

static int agent_list_read_polled(struct agent_list *list, const char *value)
{
	struct agent_list_entry *e;
	uint32_t agent;
	int at = 0;

	if (sscanf(value, "%" SCNu32 " %n", &agent, &at) != 1 || !at || agent >= list->n)
		return -EBADMSG;
	e = &list->agents[agent];
	e->polled_known = true;
	return polled_parse(value + at, &e->polled, &e->not_polled);
}

static int agent_list_read_priority(struct agent_list *list, const char *value)
{
	struct agent_list_entry *e;
	uint32_t agent;
	int err, at = 0;

	if (sscanf(value, "%" SCNu32 " %n", &agent, &at) != 1 || !at || agent >= list->n)
		return -EBADMSG;
	e = &list->agents[agent];
	err = agent_list_parse_priorities(value + at, &e->priority, &e->priority_asked);
	e->priority_known = !err;
	return err;
}

static int agent_list_read_lost(struct agent_list *list, const char *value)
{
	struct agent_list_entry *e;
	uint32_t agent;
	int why = 0;

	if (sscanf(value, "%" SCNu32 ": %n", &agent, &why) != 1 || !why)
		return -EBADMSG;
	if (agent >= list->n)
		return 0; /* ignores the loss of an agent that no LOAD_FACT_AGENT has listed */
	e = &list->agents[agent];
	e->lost = true;
	snprintf(e->why, sizeof(e->why), "%s", value + why);
	return 0;
}

int agent_list_add_fact(struct agent_list *list, const char *key, const char *value)
{
	if (!strcmp(key, LOAD_FACT_AGENT))
		return agent_list_read_agent(list, value);
	if (!strcmp(key, LOAD_FACT_AGENT_CLOCK))
		return agent_list_read_clock(list, value);
	if (!strcmp(key, LOAD_FACT_AGENT_LOST))
		return agent_list_read_lost(list, value);
	if (!strcmp(key, LOAD_FACT_AGENT_POLLED))
		return agent_list_read_polled(list, value);
	if (!strcmp(key, LOAD_FACT_AGENT_PRIORITY))
		return agent_list_read_priority(list, value);
	return 0;
}

/* ---- report ---- */

/* Adds a line about agents whose threads were granted less than --priority asked for. */
static void agent_list_add_priority_line(const struct agent_list *list, struct string_list *lines)
{
	static const char *const asked[] = { "normal", "high", "real-time" };
	struct strbuf text = STRBUF_INIT(4096);
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct agent_list_entry *e = &list->agents[i];

		if (!e->priority_known || e->priority >= e->priority_asked)
			continue;
		if (!n)
			strbuf_printf(&text, "%s priority was requested and is not granted on ",
				      asked[e->priority_asked]);
		if (n++ < NAMES_SHOWN)
			strbuf_printf(&text, "%s%s (%s)", n > 1 ? ", " : "", e->name,
				      scheduling_priorities[e->priority]);
	}
	if (n > NAMES_SHOWN)
		strbuf_printf(&text, " and %" PRIu32 " more", n - NAMES_SHOWN);
	if (n)
		list_add(lines, "%s: it needs CAP_SYS_NICE, a CPU left for others, and no limit of "
			 "its time (ulimit -R)", strbuf_str(&text));
	strbuf_release(&text);
}

static void agent_list_add_lines(const struct agent_list *list, struct report *r)
{
	struct string_list *lines = list_new(r);
	char packets[HUMAN_MAX];

	for (uint32_t i = 0; i < list->n; i++) {
		const struct agent_list_entry *e = &list->agents[i];

		if (!e->polled_known)
			continue;
		if (e->not_polled)
			list_add(lines, "agent %" PRIu32 " did not poll the network card's queue: "
				 "%s", i, e->not_polled);
		else
			list_add(lines, "agent %" PRIu32 " polled the network card's queue: %s",
				 i, human_counted(packets, e->polled, "packet"));
	}
	agent_list_add_priority_line(list, lines);
	object_add(&r->body, NULL, value_list(lines));
}

void agent_list_report(const struct agent_list *list, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "agent", .head = "agent" }, { .name = "name", .head = "name" },
		{ .name = "role", .head = "role" },
		{ .name = "clock_offset_ns", .head = "clock offset" },
		{ .name = "clock_error_ns", .head = "known to" },
		/* "lost" is a column of the JSON only: the text has the reason "agent-lost" */
		{ .name = "lost" },
		{ .name = "polled_packets" }, { .name = "not_polled" }, /* JSON only */
		{ .name = "priority" }, /* JSON only; the text has a line if it is not as asked */
	};
	struct table *t;

	if (!list->n)
		return;
	t = table_new(r, columns, ARRAY_LEN(columns));
	for (uint32_t i = 0; i < list->n; i++) {
		const struct agent_list_entry *e = &list->agents[i];

		TABLE_ADD(t, value_u64(i), value_string(e->known ? e->name : NULL),
			  value_string(e->known ? role_name(e->role) : NULL),
			  e->clock_known ? value_sns(e->offset_ns) : value_null(),
			  value_known_ns(e->clock_known, e->error_ns),
			  e->lost ? value_string(e->why) : value_null(),
			  e->polled_known ? value_u64(e->polled) : value_null(),
			  value_string(e->polled_known ? e->not_polled : NULL),
			  value_string(e->priority_known ? scheduling_priorities[e->priority] :
							   NULL));
	}
	object_add(&r->body, "agents", value_table(t));
	agent_list_add_lines(list, r);
}
