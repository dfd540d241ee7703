/* SPDX-License-Identifier: Apache-2.0 */
/* An open store in ClickHouse, for the files clickhouse*.c alone. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_STATE_H
#define HOSTLAT_STORE_CLICKHOUSE_STATE_H

#include <stdint.h>

#include "store/clickhouse_http.h"

#define CLICKHOUSE_SQL_MAX 65536u

struct clickhouse {
	struct clickhouse_address address;
	struct clickhouse_http *http;
	struct strbuf insert;      /* settings of an INSERT */
	struct strbuf connections; /* rows to send, in RowBinary */
	struct strbuf windows;     /* rows to send after all of `connections` */
	int failed;                /* first error since the last commit */
	uint64_t shards_lost;      /* shards that the last answer lacks */
	struct strbuf unreachable; /* servers of them; "": none */
};

#endif
