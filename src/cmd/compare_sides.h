/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of both sides of `compare`, and what they have in common. */
#ifndef HOSTLAT_CMD_COMPARE_SIDES_H
#define HOSTLAT_CMD_COMPARE_SIDES_H

#include "base/opt.h"
#include "cmd/compare_input.h"
#include "diagnose/compare.h"
#include "load/compare.h"

struct compare_side {
	const char *name;              /* "A" or "B" */
	struct compare_input *inputs;
	size_t n;
	bool messages, load, stages, conns; /* all recordings have them */
};

struct compare_sides {
	struct compare_side sides[2];  /* recordings of one set-up: the second is empty */
	struct comparison *messages;   /* NULL: not all recordings have messages */
	bool stages, load, conns;      /* all recordings have them */
};

/*
 * Reads the recordings of A and B, or only those of A if `b` is NULL. Returns 0, or -errno after a
 * message. Release in either case.
 */
int compare_sides_read(struct compare_sides *in, const struct opt_list *a, const struct opt_list *b,
		       const struct message_selection *selection);
void compare_sides_release(struct compare_sides *in);

/* Returns the analyzed runs of the load generator of a side; they must have been read. */
struct load_compared compare_side_load(const struct compare_side *side);

/* Fills in the result of a comparison, and of the recordings of A alone. Return 0 or -errno. */
int compare_sides_report(struct compare_sides *in, struct report *r);
int compare_sides_calibrate(struct compare_sides *in, struct report *r);

/* Adds the reasons why recordings of a side are damaged. */
void compare_side_add_damage(const struct compare_side *side, struct report *r);

#endif
