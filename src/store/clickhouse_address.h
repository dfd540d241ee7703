/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of ClickHouse: "clickhouse://HOST[:PORT][,HOST[:PORT]...]/DATABASE[?cluster=NAME]". */
#ifndef HOSTLAT_STORE_CLICKHOUSE_ADDRESS_H
#define HOSTLAT_STORE_CLICKHOUSE_ADDRESS_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Begins of an address, without and with TLS. */
#define CLICKHOUSE_BEGIN "clickhouse://"
#define CLICKHOUSE_BEGIN_TLS "clickhouse+tls://"

#define CLICKHOUSE_SERVERS_MAX 64u
#define CLICKHOUSE_NAME_MAX 64u  /* bytes of a database's or cluster's name, with the NUL */
#define CLICKHOUSE_SERVER_MAX 272u

struct clickhouse_address {
	bool tls;
	unsigned int n;                                   /* servers, 1 at least */
	char server[CLICKHOUSE_SERVERS_MAX][CLICKHOUSE_SERVER_MAX]; /* "db1:8123", "[::1]:8123" */
	char database[CLICKHOUSE_NAME_MAX];
	char cluster[CLICKHOUSE_NAME_MAX];                /* "": none, and one server */
};

/*
 * Reads an address. Names are letters, digits and "_", so that they need no quotes in SQL. Returns
 * 0, or -EINVAL after a sentence in *why.
 */
int clickhouse_address_parse(const char *text, struct clickhouse_address *out, struct strbuf *why);

#endif
