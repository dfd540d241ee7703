/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of a run, as facts in the stream and as a table in the result: name, role, clock
 * offset, and why an agent was lost.
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

#define LOAD_FACT_AGENT "load.agent"             /* "NUMBER ROLE NAME" */
#define LOAD_FACT_AGENT_CLOCK "load.agent_clock" /* "NUMBER OFFSET_NS ERROR_NS" */
#define LOAD_FACT_AGENT_POLLED "load.agent_polled" /* "NUMBER VALUE", as polled_parse() reads it */

struct agent_list_entry {
	bool known, clock_known, lost, polled_known;
	uint32_t role; /* enum load_role */
	char name[AGENT_LIST_TEXT_MAX], why[AGENT_LIST_TEXT_MAX];
	int64_t offset_ns;
	uint64_t error_ns;
	uint64_t polled;        /* packets */
	const char *not_polled; /* why no packets were polled; NULL: some were */
};

struct agent_list {
	struct agent_list_entry agents[LOAD_AGENTS_MAX];
	uint32_t n; /* agent numbers are below n; 0: the run had no agents */
};

int agent_list_put_agent(struct event_sink *sink, uint64_t now, uint32_t agent, uint32_t role,
			 const char *name);
int agent_list_put_clock(struct event_sink *sink, uint64_t now, uint32_t agent,
			 const struct offset *offset);

/* `value` is the value of an agent's LOAD_FACT_POLLED; an invalid value is ignored. */
int agent_list_put_polled(struct event_sink *sink, uint64_t now, uint32_t agent, const char *value);

/* Adds a fact; facts with other keys are ignored. Returns 0, or -EBADMSG for a malformed value. */
int agent_list_add_fact(struct agent_list *list, const char *key, const char *value);

/* Adds the table "agents" to the report, if the run had agents. */
void agent_list_report(const struct agent_list *list, struct report *r);

#endif
