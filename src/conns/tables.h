/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `hostlat conns`. Each function adds fields to the report's body. */
#ifndef HOSTLAT_CONNS_TABLES_H
#define HOSTLAT_CONNS_TABLES_H

#include "conns/select.h"

/* Rows and sentences that fit on a screen. */
#define TABLES_ROWS 20u
#define TABLES_GROUPS 20u
#define TABLES_SENTENCES 6u
/* JSON: connections with all that is known of them; beyond, identity, times and events only. */
#define TABLES_FULL_MAX 10000u
#define TABLES_CONNECTIONS_MAX 150000u
#define TABLES_PROBLEMS_MAX 20000u

/* `connections`; and for people those with problems, or all. */
void tables_connections(const struct conns *c, const struct conn_selection *s, struct report *r);
/* `problems`, in the order of the connections. */
void tables_problems(const struct conns *c, const struct conn_selection *s, struct report *r);
/* `groups`, of --by; nothing without. 0 or -ENOMEM. */
int tables_groups(const struct conns *c, const struct conn_selection *s, struct report *r);
/* `timeline` of the connection that is followed; nothing without. */
void tables_timeline(const struct conns *c, struct report *r);
/* Sentences: one per class of problems, for the worst connection that has it. */
void tables_findings(const struct conns *c, const struct conn_selection *s, struct report *r);

#endif
