/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `hostlat conns`. Each function adds fields to the report's body. */
#ifndef HOSTLAT_CONNS_TABLES_H
#define HOSTLAT_CONNS_TABLES_H

#include "conns/select.h"

/* Most sentences of the text without --all. */
#define TABLES_SENTENCES 6u
/* JSON: connections with all fields; further ones have identity, times and events only. */
#define TABLES_FULL_MAX 10000u
#define TABLES_CONNECTIONS_MAX 150000u
#define TABLES_PROBLEMS_MAX 20000u
#define TABLES_LAST_KNOWN_MAX 1000u

/* Returns the number of rows that a table of the text may have. */
size_t tables_rows_max(const struct conns *c);

/* Adds `connections`, and to the text a table of connections with problems, or of all. */
void tables_connections(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds `last_known`: the open connections without a record in the interval. */
void tables_last_known(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds `problems`, in the order of the connections. */
void tables_problems(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds `groups` of --by; nothing without --by. Returns 0 or -ENOMEM. */
int tables_groups(const struct conns *c, const struct conn_selection *s, struct report *r);
/* Adds the table `timeline` of the followed connection; nothing if no connection is followed. */
void tables_timeline(const struct conns *c, struct report *r);
/* Adds a finding per class of problems, for the worst connection of the class. */
void tables_findings(const struct conns *c, const struct conn_selection *s, struct report *r);

#endif
