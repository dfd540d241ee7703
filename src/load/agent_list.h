/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made the load, as facts in the stream and as a table in the result: the agents of a run, what
 * they were for, how far their clocks were off, and why one was lost.
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
#define LOAD_FACT_AGENT_POLLED "load.agent_polled" /* "NUMBER VALUE", as polled_take() reads it */

struct agent_list_entry {
	bool known, clock_known, lost, polled_known;
	uint32_t role; /* enum load_role */
	char name[AGENT_LIST_TEXT_MAX], why[AGENT_LIST_TEXT_MAX];
	int64_t offset_ns;
	uint64_t error_ns;
	uint64_t polled;        /* packets */
	const char *not_polled; /* why there are none; NULL */
};

struct agent_list {
	struct agent_list_entry agents[LOAD_AGENTS_MAX];
	uint32_t n; /* all numbers are below it; 0: the run had no agents */
};

int agent_list_put_agent(struct event_sink *sink, uint64_t now, uint32_t agent, uint32_t role,
			 const char *name);
int agent_list_put_clock(struct event_sink *sink, uint64_t now, uint32_t agent,
			 const struct offset *offset);

/* `value` is that of an agent's LOAD_FACT_POLLED; one that none can have is left out. */
int agent_list_put_polled(struct event_sink *sink, uint64_t now, uint32_t agent, const char *value);

/* Any fact; those of others are ignored. -EBADMSG: one of these, but not as they are written. */
int agent_list_add_fact(struct agent_list *list, const char *key, const char *value);

/* Adds "agents", if there are any. */
void agent_list_report(const struct agent_list *list, struct report *r);

#endif
