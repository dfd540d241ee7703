/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of a timeline's tasks. Each id is looked up once, when the first task with it gets
 * its name: later its folder may be gone. An id that was unknown then stays unknown.
 */
#ifndef HOSTLAT_PROBE_TIMELINE_PLACES_H
#define HOSTLAT_PROBE_TIMELINE_PLACES_H

#include <stdint.h>

#include "event/writer.h"

/* Control groups known at most, 16 bytes each; tasks of later ones have none. */
#define TIMELINE_PLACES_MAX 2048u
/* Bytes of a path and of a unit's name, with NUL: longer ones are unknown. */
#define TIMELINE_PATH_MAX 512
#define TIMELINE_UNIT_MAX 192

/* A control group as it is looked up. */
struct timeline_path {
	char cgroup[TIMELINE_PATH_MAX];
	char unit[TIMELINE_UNIT_MAX]; /* systemd unit or container; "": none */
};

/* Looks up tasks of the host. The functions return 0 or -errno; NULL: nothing is known. */
struct timeline_lookup {
	/* fills `comm` (16 bytes) and *tgid of a task that ran before the programs were attached */
	int (*name)(uint32_t tid, char *comm, uint32_t *tgid);
	/* fills in a control group, by its id in the cgroup2 hierarchy; `ctx` is the one below */
	int (*place)(void *ctx, uint64_t id, struct timeline_path *path);
	void *ctx;
};

struct timeline_place {
	uint64_t id;                  /* the control group's in the cgroup2 hierarchy; 0: free */
	uint32_t cgroup, unit;        /* DICT_CGROUP, 0: unknown; DICT_UNIT, 0: none */
};

struct timeline_places {
	struct timeline_place *at;    /* hash table by id, open addressing; NULL: none yet */
	uint32_t n;
	struct timeline_lookup lookup;
};

/*
 * Returns the control group with this id, valid as long as `places`; its names are written if they
 * are new. NULL: it is unknown, or out of memory.
 */
const struct timeline_place *timeline_places_get(struct timeline_places *places,
						 struct event_writer *writer, uint64_t id);
void timeline_places_release(struct timeline_places *places);

#endif
