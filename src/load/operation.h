/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of requests to a key-value store or web server, one row each. A protocol has a
 * function for each operation that it encodes (protocol_put); a workload has the share of each.
 */
#ifndef HOSTLAT_LOAD_OPERATION_H
#define HOSTLAT_LOAD_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Columns: name, the workload setting for its share of requests, whether it carries a value. Writes
 * have no setting: they get the remaining share. A sample stores the operation's number
 * (event_sample.type), so new rows are appended.
 */
#define OPERATION_ROWS(X)                                                                          \
	X(OPERATION_GET, "read", false)                                                            \
	X(OPERATION_SET, NULL, true)                                                               \
	X(OPERATION_DELETE, "delete", false)                                                       \
	X(OPERATION_HEAD, "head", false)                                                           \
	X(OPERATION_GETS, "gets", false)                                                           \
	X(OPERATION_CAS, "cas", true)

#define OPERATION_NAME(name, share, has_value) name,
enum operation_kind { OPERATION_ROWS(OPERATION_NAME) OPERATIONS };

/* The operation of the first command of --command; the others follow in their order. */
#define OPERATION_COMMAND 256

struct operation_row {
	const char *share; /* setting for the operation's share; NULL: no setting */
	bool has_value;
};

extern const struct operation_row operation_rows[OPERATIONS];

/* An operation, to be encoded as a request. */
struct operation {
	enum operation_kind kind;
	uint64_t key;  /* number of the key; 0 if the protocol has no keys */
	uint32_t size; /* size of the value in bytes; 0 without a value */
	uint32_t id;
	uint64_t number; /* number of the request, from 0 */
	uint64_t random; /* seed of the request's random numbers; 0 if it has none */
};

#endif
