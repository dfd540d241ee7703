/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compare_sides.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/recorded_file.h"

/* ---- reading ---- */

static int compare_side_read(struct compare_side *side, const struct opt_list *files)
{
	int err = 0;

	if (!files)
		return 0;
	side->inputs = calloc(files->len, sizeof(*side->inputs));
	if (!side->inputs) {
		log_error("out of memory for %u recordings", files->len);
		return -ENOMEM;
	}
	side->messages = side->load = side->stages = side->conns = true;
	for (size_t i = 0; !err && i < files->len; i++) {
		struct compare_input *one = &side->inputs[side->n++];

		err = compare_input_read(one, files->items[i]);
		side->messages &= one->messages;
		side->load &= one->load;
		side->stages &= one->stages;
		side->conns &= compare_input_has_conns(one);
	}
	return err;
}

static int compare_side_read_load(struct compare_side *side)
{
	int err = 0;

	for (size_t i = 0; !err && i < side->n; i++)
		err = compare_input_read_load(&side->inputs[i]);
	return err;
}

static int compare_sides_read_messages(struct compare_sides *in,
				       const struct message_selection *selection)
{
	int err = comparison_new(&in->messages, selection);

	for (int which = 0; !err && which < 2; which++)
		for (size_t i = 0; !err && i < in->sides[which].n; i++) {
			struct compare_input *one = &in->sides[which].inputs[i];

			err = comparison_add(in->messages, which, one->from.host,
					     &one->from.hostlat);
			if (err)
				recorded_file_failed(one->file, "compare", err);
		}
	return err;
}

static bool compare_sides_have(bool a, const struct compare_side *b, bool in_b)
{
	return a && (in_b || !b->n);
}

int compare_sides_read(struct compare_sides *in, const struct opt_list *a, const struct opt_list *b,
		       const struct message_selection *selection)
{
	struct compare_side *x = &in->sides[0], *y = &in->sides[1];
	int err;

	x->name = "A";
	y->name = "B";
	err = compare_side_read(x, a);
	if (!err)
		err = compare_side_read(y, b);
	if (err)
		return err;
	in->stages = compare_sides_have(x->stages, y, y->stages);
	in->conns = compare_sides_have(x->conns, y, y->conns);
	in->load = compare_sides_have(x->load, y, y->load);
	if (compare_sides_have(x->messages, y, y->messages))
		err = compare_sides_read_messages(in, selection);
	if (!err && in->messages && y->n)
		err = comparison_evaluate(in->messages);
	if (!err && in->load)
		err = compare_side_read_load(x);
	if (!err && in->load)
		err = compare_side_read_load(y);
	return err;
}

void compare_sides_release(struct compare_sides *in)
{
	comparison_free(in->messages);
	for (int which = 0; which < 2; which++) {
		struct compare_side *side = &in->sides[which];

		for (size_t i = 0; i < side->n; i++)
			compare_input_release(&side->inputs[i]);
		free(side->inputs);
	}
}

struct load_compared compare_side_load(const struct compare_side *side)
{
	struct load_compared runs = { .n = side->n };

	for (size_t i = 0; i < side->n; i++)
		runs.runs[i] = side->inputs[i].consumer.analysis;
	return runs;
}
