/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's functions in messages' time, if they were recorded: the functions that made a target
 * (a message to explain) slower than the reference messages of its application. Only time that is
 * charged to the causes "function" and "application" is searched.
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
	/* by excess (struct excess): its message's number for nesting_judge(), or FUNCTIONS_NONE */
	uint32_t *numbers;
	struct event_dict *names;  /* functions of both recordings; NULL: there is one recording */
	/*
	 * by a function's number in the targets' (`own`) or the references' (`other`) recording:
	 * its number in `names`
	 */
	uint32_t *own, *other;
	/* losses of all call-path models, summed; `overlapping` is not set */
	struct nesting_losses losses;
};

/*
 * Adds the slice to the message's windows (intervals of one core's work for it) if its cause is
 * "function" or "application" and its core is known. Returns 0 or -ENOMEM.
 */
int functions_add_window(struct windows *windows, const struct slice *slice);

/*
 * Finds the functions that made the targets (messages to explain) slower; call it after the
 * targets' excess is known. d->functions stays NULL unless the recording, and that of the reference
 * messages, have functions. Returns 0 or -errno.
 */
int functions_find(struct diagnosis *d);
void functions_free(struct functions *f);

/* Returns the name of the function with number `symbol` in the models; "?" if unknown. */
const char *functions_name(const struct diagnosis *d, uint32_t symbol);

struct nesting_options functions_options(const struct diagnosis *d);

#endif
