/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel refuses of a BPF object that is loaded, by name. An empty program that this kernel
 * takes at a hook does not prove that it takes ours: policies refuse by name, type or helper, and
 * verifiers differ. So an object is loaded again without what was refused, until the rest loads:
 *
 *	struct refusals refused = { 0 };
 *	do {
 *		x_bpf__destroy(skel);
 *		skel = x_bpf__open();
 *		...   autoload is off for each program of refusals_of(); what it measured is unknown
 *		err = refusals_load(&refused, skel->skeleton);
 *	} while (err == -EAGAIN);
 */
#ifndef HOSTLAT_PROBE_REFUSAL_H
#define HOSTLAT_PROBE_REFUSAL_H

#include <stddef.h>

#define REFUSALS_MAX 32

struct bpf_object_skeleton;

struct refusal {
	char name[64];   /* of a program or a map */
	char why[160];   /* in words, e.g. "refused by this kernel (Operation not permitted)" */
};

struct refusals {
	struct refusal items[REFUSALS_MAX];
	size_t n;
};

/*
 * libbpf's messages are read from now on instead of printed; with HOSTLAT_DEBUG set they are
 * printed, too. Process-wide; no other thread may load meanwhile.
 */
void refusal_listen(void);

/* Name of the program or map that was refused since refusal_forget(); "" if none was. Static. */
const char *refusal_name(void);
void refusal_forget(void);

/*
 * Loads. 0; -EAGAIN: the kernel refused something that is not in the list yet, and now is; else
 * -errno, for which nobody can be named, or which comes again.
 */
int refusals_load(struct refusals *refused, struct bpf_object_skeleton *skeleton);

/*
 * Adds a program that was loaded and cannot be attached; `err` is -errno. -EAGAIN, or `err` if the
 * list is full or has it.
 */
int refusals_add(struct refusals *refused, const char *program, int err);

/*
 * ", as " with a reason that holds for all of this kernel's refusals, or "": by -errno, as lack of
 * memory has other reasons. Static.
 */
const char *refusal_cause(int err);

/* Why a program or map was refused, or NULL. Valid until the list changes. */
const char *refusals_of(const struct refusals *refused, const char *name);

#endif
