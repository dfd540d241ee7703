/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's functions in messages' time, if they were recorded: the functions that made a target
 * slower than the references of its application. Only time that is charged to the causes "function"
 * and "application" is searched.
 */
#ifndef HOSTLAT_DIAGNOSE_FUNCTIONS_H
#define HOSTLAT_DIAGNOSE_FUNCTIONS_H

#include "diagnose/nesting.h"
#include "diagnose/attrib.h"

struct diagnosis;
struct recorded;

/* Time in which a core did a message's own work, in ns. */
struct window {
	uint64_t begin, end;
	uint32_t core;
	uint8_t role;      /* enum piece_role */
};

struct windows VEC_OF(struct window);

#define FUNCTIONS_NONE UINT32_MAX

struct functions {
	struct nesting **models;   /* call-path model of each baseline; NULL: too few references */
	size_t n_models;
	uint32_t *numbers;         /* by excess: the message's number for nesting_judge(), or
				    * FUNCTIONS_NONE */
	struct event_dict *names;  /* functions of both recordings; NULL: there is one recording */
	uint32_t *own, *other;     /* functions' numbers in `names`, by their number in either
				    * recording */
	struct nesting_losses losses; /* sums over all models, except `overlapping` */
};

/*
 * Adds the slice to its message's windows if its cause is "function" or "application" and its core
 * is known. Returns 0 or -ENOMEM.
 */
int functions_add_window(struct windows *windows, const struct slice *slice);

/*
 * Finds the functions that made the targets slower; call it after the targets' excess is known.
 * d->functions stays NULL unless the recording, and that of the references, have functions. Returns
 * 0 or -errno.
 */
int functions_find(struct diagnosis *d);
void functions_free(struct functions *f);

/* Returns the name of the function with number `symbol` in the models; "?" if unknown. */
const char *functions_name(const struct diagnosis *d, uint32_t symbol);

struct nesting_options functions_options(const struct diagnosis *d);

#endif
