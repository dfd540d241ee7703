/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a machine's set-up that affect latency, as key and value strings.
 *
 * Facts are in the order of the table in facts_collect.c (documented in hostlat-doctor(1)), the
 * same on every machine. Facts whose key has a variable part (an interface, an idle state, an
 * interrupt) are in the order of the kernel's numbers. Interfaces, and the sysctls of net.ipv4, are
 * those of the caller's network namespace.
 *
 * A fact that does not exist on this kernel, architecture or device is omitted. A fact that exists
 * but could not be determined has `known` false, and the value "n/a: why".
 */
#ifndef HOSTLAT_HOST_FACTS_H
#define HOSTLAT_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_FACTS_MAX      4096
#define HOST_FACT_KEY_MAX   96
#define HOST_FACT_VALUE_MAX 4096

struct host_fact {
	char *key;                    /* name of the fact, e.g. "kernel.release" */
	char *value;                  /* text, never NULL */
	bool known;
};

struct host_facts {
	struct host_fact *items;      /* base/vec.h vector; owned */
	size_t len, cap, max;
	int error;                    /* 0, or the first failure to add a fact: -ENOMEM; -E2BIG:
				       * more than HOST_FACTS_MAX */
};

void host_facts_init(struct host_facts *facts);
void host_facts_release(struct host_facts *facts);

/*
 * Adds a fact; errors are in facts->error, to check at the end. Truncates keys to HOST_FACT_KEY_MAX
 * and values to HOST_FACT_VALUE_MAX bytes.
 */
void host_facts_add(struct host_facts *facts, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds an unknown fact. `why`: the step that failed; `err`: its -errno, 0: none to name. */
void host_facts_add_unknown(struct host_facts *facts, const char *key, const char *why, int err);

/* Returns the value of a known fact, or NULL. Valid until host_facts_release(). */
const char *host_facts_get(const struct host_facts *facts, const char *key);

#endif
