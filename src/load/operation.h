/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of requests to a key-value store or web server, a row each. A protocol has a
 * function for each operation it can encode (protocol_put); a workload has the share of each.
 */
#ifndef HOSTLAT_LOAD_OPERATION_H
#define HOSTLAT_LOAD_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Name, the workload's setting for its share of all requests, whether a request carries a value.
 * Writes have no setting: they get the remainder. A sample records an operation's number
 * (event_sample.type), so new rows come last.
 */
#define OPERATION_ROWS(X)                                                                          \
	X(OPERATION_GET, "read", false)                                                            \
	X(OPERATION_SET, NULL, true)                                                               \
	X(OPERATION_DELETE, "delete", false)

#define OPERATION_NAME(name, share, has_value) name,
enum operation_kind { OPERATION_ROWS(OPERATION_NAME) OPERATIONS };

struct operation_row {
	const char *share; /* NULL: there is no setting */
	bool has_value;
};

extern const struct operation_row operation_rows[OPERATIONS];

/* An operation to encode as a request. */
struct operation {
	enum operation_kind kind;
	uint64_t key;  /* number of the key; 0 without keys */
	uint32_t size; /* bytes of the value; 0 without one */
	uint32_t id;
};

#endif
