/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of a run, as facts in the stream and as a table in the result: name, role, clock
 * offset, priority of its threads, and why an agent was lost.
 */
#ifndef HOSTLAT_LOAD_AGENT_LIST_H
#define HOSTLAT_LOAD_AGENT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "load/config.h"
#include "load/offset.h"
#include "report/report.h"

#define AGENT_LIST_TEXT_MAX 256

#define LOAD_FACT_AGENT "load.agent"             /* value: "NUMBER ROLE NAME" */
#define LOAD_FACT_AGENT_CLOCK "load.agent_clock" /* value: "NUMBER OFFSET_NS ERROR_NS" */
/* value: "NUMBER VALUE": the agent's number; number of packets polled, or why none were */
#define LOAD_FACT_AGENT_POLLED "load.agent_polled"
/* value: "NUMBER GRANTED ASKED"; recordings of earlier versions lack it */
#define LOAD_FACT_AGENT_PRIORITY "load.agent_priority"

struct agent_list_entry {
	bool known, clock_known, lost, polled_known, priority_known;
	uint32_t role; /* enum load_role */
	char name[AGENT_LIST_TEXT_MAX], why[AGENT_LIST_TEXT_MAX];
	int64_t offset_ns;
	uint64_t error_ns;
	uint64_t polled;        /* number of packets polled from the network card's queue */
	const char *not_polled; /* why no packets were polled; NULL: packets were polled */
	uint32_t priority;       /* enum load_priority that the agent's threads were granted */
	uint32_t priority_asked; /* enum load_priority that was asked for */
};

struct agent_list {
	struct agent_list_entry agents[LOAD_AGENTS_MAX];
	uint32_t n; /* highest agent number + 1; 0: the run had no agents */
};

int agent_list_put_agent(struct event_sink *sink, uint64_t now, uint32_t agent, uint32_t role,
			 const char *name);
int agent_list_put_clock(struct event_sink *sink, uint64_t now, uint32_t agent,
			 const struct offset *offset);

/* Converts an agent's LOAD_FACT_POLLED to LOAD_FACT_AGENT_POLLED; ignores an invalid value. */
int agent_list_put_polled(struct event_sink *sink, uint64_t now, uint32_t agent, const char *value);

/* Converts an agent's AGENT_PRIORITY to LOAD_FACT_AGENT_PRIORITY; ignores an invalid value. */
int agent_list_put_priority(struct event_sink *sink, uint64_t now, uint32_t agent,
			    const char *value);

/* Adds a fact about an agent; ignores other facts. Returns 0, or -EBADMSG: malformed value. */
int agent_list_add_fact(struct agent_list *list, const char *key, const char *value);

/* Adds the table "agents" to the report, if the run had agents. */
void agent_list_report(const struct agent_list *list, struct report *r);

#endif
