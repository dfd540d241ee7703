/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and maps of a BPF object that the kernel refuses, by name. A kernel that takes an empty
 * program at a hook may still refuse ours: policies refuse by name, type or helper, and verifiers
 * differ. So an object is loaded again without the refused ones, until the rest loads:
 *
 *	struct refusals refused = { 0 };
 *	do {
 *		x_bpf__destroy(skel);
 *		skel = x_bpf__open();
 *		...   switch autoload off for each program of refusals_of()
 *		err = refusals_load(&refused, skel->skeleton);
 *	} while (err == -EAGAIN);
 */
#ifndef HOSTLAT_PROBE_REFUSAL_H
#define HOSTLAT_PROBE_REFUSAL_H

#include <stddef.h>

#define REFUSALS_MAX 32

struct bpf_object_skeleton;

struct refusal {
	char name[64];   /* name of the refused program or map */
	char why[160];   /* in words, e.g. "refused by this kernel (Operation not permitted)" */
};

struct refusals {
	struct refusal items[REFUSALS_MAX];
	size_t n;
};

/*
 * Reads libbpf's messages from now on instead of printing them; with HOSTLAT_DEBUG prints them,
 * too. Process-wide: no other thread may load programs at the same time.
 */
void refusal_listen(void);

/* Returns the name of the program or map refused since refusal_forget(), or "". Static. */
const char *refusal_name(void);
void refusal_forget(void);

/*
 * Loads the object. Returns 0; -EAGAIN after adding a newly refused program or map to the list;
 * else -errno, if libbpf named none or the list has it already.
 */
int refusals_load(struct refusals *refused, struct bpf_object_skeleton *skeleton);

/*
 * Adds a program that was loaded and cannot be attached to the list of refused programs; `err` is
 * the attachment's -errno. Returns -EAGAIN, or `err` if the list is full or already has the
 * program.
 */
int refusals_add(struct refusals *refused, const char *program, int err);

/*
 * Returns text to append to the message on a refusal: ", as " and the kernel's lockdown, or "" if
 * the kernel is not locked down or `err` has other causes, such as lack of memory. Static.
 */
const char *refusal_cause(int err);

/* Returns why a program or map was refused, or NULL. Valid until the list changes. */
const char *refusals_of(const struct refusals *refused, const char *name);

#endif
