/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a store that a report is about. */
#ifndef HOSTLAT_CMD_FLEET_STORED_FIND_H
#define HOSTLAT_CMD_FLEET_STORED_FIND_H

#include "cmd/fleet_config.h"
#include "store/store.h"

/* A recording's part of a window. Owns its texts. */
struct stored_window {
	struct store_window row;
	uint64_t seen;                /* connections that were read */
	uint32_t recording;           /* in in->scan.recordings */
	bool left_out;                /* another recording of the host has this time already */
};

struct fleet_stored {
	struct store *store;
	/* by the key of the table, the latest version only */
	struct stored_windows VEC_OF(struct stored_window) windows;
	uint64_t since_ns, until_ns;  /* as they were given; 0: were not */
	uint64_t other_step;          /* windows in other steps than --step: left out */
	uint64_t overlapping;         /* windows left out because the host has two recordings */
	uint64_t incomplete;          /* windows of which connections are missing */
	const char *first_incomplete; /* host of the first of them; borrowed */
	uint64_t invalid;             /* rows with impossible values */
	char *unreachable;            /* servers; NULL: none */
};

/*
 * Opens the store of the command line and finds its windows: of --since to --until, or the last
 * hour. Sets in->scan and in->grid. The caller calls fleet_stored_release() in either case, after
 * the last use of in->scan. Returns EXIT_OK or, after a message, another enum exit_code.
 */
int fleet_stored_find(const struct fleet_config *c, struct fleet_inputs *in,
		      struct fleet_stored *s);

/* Adds sentences about a given time that is not the report's, because that has whole windows. */
void fleet_stored_moved(const struct fleet_stored *s, struct strbuf *out);

void fleet_stored_release(struct fleet_stored *s);

#endif
