/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of a machine: each is yes, no or unknown, with the observation and how to get it. */
#ifndef HOSTLAT_HOST_CAP_H
#define HOSTLAT_HOST_CAP_H

#include <stdbool.h>
#include <stddef.h>

#include "host/root.h"

#define HOST_CAPS_MAX 4096

enum cap_state {
	CAP_NO,
	CAP_YES,
	CAP_UNKNOWN,            /* not permitted to check */
};

struct cap {
	const char *area;       /* group of capabilities: "bpf", "clock", ...; static */
	char name[64];          /* name of the capability: "fentry", "CAP_BPF", "eth0" */
	enum cap_state state;
	char found[320];        /* observation, or why it is unknown */
	const char *takes;      /* how to get or check it; NULL: impossible or not needed. Static */
	const char *without;    /* effect on a measurement if it is missing; NULL: none. Static */
};

struct cap_vec {
	struct cap *items;      /* base/vec.h vector; owned */
	size_t len, cap, max;
	int error;              /* 0, or the first failure to add a capability, as -errno */
};

void cap_vec_init(struct cap_vec *caps);
void cap_vec_release(struct cap_vec *caps);

/*
 * Adds a capability. `takes` (how to get it) is ignored for CAP_YES. `fmt` formats the observation,
 * or why it is unknown.
 */
void cap_add(struct cap_vec *caps, const char *area, const char *name, enum cap_state state,
	     const char *takes, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Sets the effect on a measurement if the capability added last is missing. Static text. */
void cap_without(struct cap_vec *caps, const char *without);

/* Returns true if the capability of linux/capability.h is in this process' effective set. */
bool host_may(const struct host_root *root, int capability);

/* Adds this machine's "privilege", "system", "clock", "trace", "perf" and "nic" capabilities. */
void host_caps_collect(const struct host_root *root, struct cap_vec *caps);

#endif
