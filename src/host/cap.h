/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of a machine: each yes, no or not known, with the finding and how to get it. */
#ifndef HOSTLAT_HOST_CAP_H
#define HOSTLAT_HOST_CAP_H

#include <stdbool.h>
#include <stddef.h>

#include "host/root.h"

#define HOST_CAPS_MAX 4096

enum cap_state {
	CAP_NO,
	CAP_YES,
	CAP_UNKNOWN,            /* not permitted to find out */
};

struct cap {
	const char *area;       /* "bpf", "clock", ...; static */
	char name[64];          /* "fentry", "CAP_BPF", "eth0" */
	enum cap_state state;
	char found[320];        /* observation, or why it is not known */
	const char *takes;      /* how to get or know it; NULL: impossible or not needed. Static */
	const char *without;    /* effect of its absence on a measurement; NULL: none. Static */
};

struct cap_vec {
	struct cap *items;      /* a base/vec.h vector */
	size_t len, cap, max;
	int error;              /* 0, or the first failure to add one, as -errno */
};

void cap_vec_init(struct cap_vec *caps);
void cap_vec_release(struct cap_vec *caps);

/* Adds a capability; `takes` is dropped for CAP_YES. */
void cap_add(struct cap_vec *caps, const char *area, const char *name, enum cap_state state,
	     const char *takes, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Says for the capability added last what its absence means for a measurement. Static. */
void cap_without(struct cap_vec *caps, const char *without);

/* Whether this process has a capability of linux/capability.h in its effective set. */
bool host_may(const struct host_root *root, int capability);

/* Areas "privilege", "system", "clock", "trace", "perf" and "nic" of this machine. */
void host_caps_collect(const struct host_root *root, struct cap_vec *caps);

#endif
