/* SPDX-License-Identifier: Apache-2.0 */
/* First look at the recordings of a fleet: whose they are, of what time, and by which clock. */
#ifndef HOSTLAT_CMD_FLEET_SCAN_H
#define HOSTLAT_CMD_FLEET_SCAN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/run_facts.h"
#include "fleet/addresses.h"
#include "fleet/fleet.h"

#define FLEET_RECORDINGS_MAX 4096u

/* Whether the host's realtime clock was synchronized when the recording began. */
enum fleet_synchronized { FLEET_SYNC_UNKNOWN, FLEET_SYNC_YES, FLEET_SYNC_NO };

struct fleet_recording {
	const char *path;             /* borrowed */
	struct run_facts run;
	char product[128];            /* model or instance type by the firmware; "": unknown */
	uint64_t pid;                 /* process of the run; 0: unknown */
	uint64_t from_ns, to_ns;      /* realtime: begin of the first interval, end of the last */
	uint64_t boot_ns;             /* realtime when the monotonic clock was 0 */
	uint64_t error_ns;            /* bound of the error of converted times */
	uint64_t max_error_ns;        /* the kernel's bound of the realtime clock; 0: unknown */
	enum fleet_synchronized synchronized;
	bool ended;                   /* the run ended, and all of it is here */
	dev_t device;
	ino_t inode;
	uint32_t host;                /* number of its host */
	/* -- set when the connections are read -- */
	uint64_t connections;
	uint64_t own;                 /* connections of hostlat itself: left out */
	uint64_t records;
	uint64_t untimed;             /* records at times that the realtime clock does not know */
	uint64_t refused;             /* records with impossible values */
	uint64_t beyond;              /* connections beyond the limits of fleet/fleet.h */
	uint64_t lost;                /* events that the recording lost */
	char damaged[256];            /* names of the damage; "": none */
};

struct fleet_scan {
	/* by host, then by time */
	struct fleet_recordings VEC_OF(struct fleet_recording) recordings;
	struct fleet_host_names VEC_OF(const char *) hosts; /* belong to the recordings */
	struct fleet_addresses addresses; /* local addresses of connections, by host */
};

void fleet_scan_release(struct fleet_scan *scan);

/*
 * Scans the recordings. Returns EXIT_OK or, after a message, another enum exit_code, also if one
 * is given twice or two of a host overlap. The caller calls fleet_scan_release() in either case.
 */
int fleet_scan_read(struct fleet_scan *scan, const char *const *paths, uint32_t n);

/*
 * Sets the grid to the time of all recordings, or the `last_ns` of it unless that is 0, from a
 * multiple of the step on. Returns false after a message if it has too many intervals.
 */
bool fleet_scan_grid(const struct fleet_scan *scan, uint64_t step_ns, uint64_t last_ns,
		     struct fleet_grid *grid);

/* Returns "synchronized", "not synchronized", or "" for unknown. */
const char *fleet_synchronized_name(enum fleet_synchronized synchronized);

/* Returns the value of this name; unknown for any other. */
enum fleet_synchronized fleet_synchronized_find(const char *name);

/* Returns whether two recordings are of one host and boot, by when its monotonic clock was 0. */
bool fleet_scan_is_same_boot(const struct fleet_recording *a, const struct fleet_recording *b);

/*
 * Returns the bound of the error of a recording's realtime: the conversion's and the clock's own.
 * UINT64_MAX: nothing bounds it.
 */
uint64_t fleet_scan_error_ns(const struct fleet_recording *recording);

#endif
