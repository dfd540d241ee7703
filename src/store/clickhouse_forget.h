/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting old rows in ClickHouse. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_FORGET_H
#define HOSTLAT_STORE_CLICKHOUSE_FORGET_H

#include <stdint.h>

#include "base/strbuf.h"

/* The function of struct store_backend. Returns -EINPROGRESS if rows are left after a while. */
int clickhouse_forget(void *state, uint64_t before_ns, struct strbuf *why);

#endif
