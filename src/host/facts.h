/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-up of a machine as far as it bears on latency, as key and value strings.
 *
 * Facts come in the order of the table in facts_collect.c (documented in hostlat-doctor(1)),
 * the same on every machine. Where a key has a variable part (an interface, an idle state, an
 * interrupt) its facts are in the order of the kernel's numbers. Interfaces, and the sysctls of
 * net.ipv4, are those of the caller's network namespace.
 *
 * What does not exist here (on this kernel, architecture, device) is left out. What exists but
 * could not be determined is there with `known` false, and its value says "n/a: why".
 */
#ifndef HOSTLAT_HOST_FACTS_H
#define HOSTLAT_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_FACTS_MAX      4096
#define HOST_FACT_KEY_MAX   96
#define HOST_FACT_VALUE_MAX 4096

struct host_fact {
	char *key;                    /* "kernel.release", "iface.eth0.coalesce" */
	char *value;                  /* never NULL */
	bool known;
};

struct host_facts {
	struct host_fact *items;      /* a base/vec.h vector */
	size_t len, cap, max;
	int error;                    /* 0, or the first failure to add one: -ENOMEM, or -E2BIG:
				       * there were more than HOST_FACTS_MAX */
};

void host_facts_init(struct host_facts *facts);
void host_facts_release(struct host_facts *facts);

/*
 * Adds one; check `error` at the end. Keys and values are cut at HOST_FACT_KEY_MAX and
 * HOST_FACT_VALUE_MAX.
 */
void host_facts_add(struct host_facts *facts, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Adds an unknown fact. `why`: the step that failed, and the error as -errno (0: no error to name).
 */
void host_facts_add_unknown(struct host_facts *facts, const char *key, const char *why, int err);

/* The value of a known fact, or NULL. Valid until the release. */
const char *host_facts_get(const struct host_facts *facts, const char *key);

#endif
