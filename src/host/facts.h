/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-up of this machine as far as it bears on latency, as key and value strings.
 *
 * The order is that of the table in facts.c (documented in hostlat-doctor(1)): the same on every
 * machine. Keys with a variable part (an interface, an idle state, an interrupt) are in the kernel's
 * numeric order there. Interfaces are those of the caller's network namespace.
 *
 * A fact that does not apply (no such file on this kernel or architecture) is left out; one
 * that could not be determined is there with `known` false, and its value says "n/a: why".
 */
#ifndef HOSTLAT_HOST_FACTS_H
#define HOSTLAT_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "host/root.h"

#define HOST_FACTS_MAX 4096

struct host_fact {
	char *key;                    /* "kernel.release", "iface.eth0.coalesce" */
	char *value;                  /* never NULL */
	bool known;
};

struct host_facts {
	struct host_fact *items;      /* a base/vec.h vector */
	size_t len, cap, max;
	bool truncated;               /* there were more than HOST_FACTS_MAX */
};

/* `facts` is to be released by the caller, also if this fails (-ENOMEM). */
int host_facts_collect(const struct host_root *root, struct host_facts *facts);
void host_facts_release(struct host_facts *facts);

/* The value of a known fact, or NULL. Valid until the release. */
const char *host_facts_get(const struct host_facts *facts, const char *key);

#endif
