/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/contexts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define PLACES (2 * CONTEXTS_MAX)

int contexts_init(struct contexts *contexts)
{
	*contexts = (struct contexts){ 0 };
	vec_init(&contexts->all, CONTEXTS_MAX);
	contexts->places = calloc(PLACES, sizeof(*contexts->places));
	return contexts->places ? 0 : -ENOMEM;
}

void contexts_release(struct contexts *contexts)
{
	vec_release(&contexts->all);
	free(contexts->places);
	contexts->places = NULL;
}

static struct context contexts_get(const struct slice *slice)
{
	const uint8_t type = slice->segment_type;

	return (struct context){
		.core = slice->core,
		.detail = type == SEGMENT_HARDIRQ || type == SEGMENT_SOFTIRQ ? slice->detail :
			  type == SEGMENT_TASK || type == SEGMENT_FAULT ? slice->core_task : 0,
		.type = type == SEGMENT_FAULT ? SEGMENT_TASK : type,
		.where = slice->where,
	};
}

static bool contexts_alike(const struct context *a, const struct context *b)
{
	return a->core == b->core && a->detail == b->detail && a->type == b->type &&
	       a->where == b->where;
}

static uint32_t contexts_place(const struct contexts *contexts, const struct context *like)
{
	const uint64_t key = ((uint64_t)like->detail << 32 | like->core) ^
			     ((uint64_t)like->type << 24 | (uint64_t)like->where << 16);
	uint32_t at = (uint32_t)hash_u64(key) & (PLACES - 1);

	while (contexts->places[at] &&
	       !contexts_alike(&contexts->all.items[contexts->places[at] - 1], like))
		at = (at + 1) & (PLACES - 1);
	return at;
}

int contexts_add(struct contexts *contexts, const struct slice *slice, bool target, bool reference)
{
	const struct context like = contexts_get(slice);
	const uint32_t at = contexts_place(contexts, &like);
	const uint64_t ns = slice->end - slice->begin;
	struct context *context;

	if (!contexts->places[at]) {
		const int err = vec_push(&contexts->all, like);

		if (err == -E2BIG)
			contexts->lost_ns += ns;
		if (err)
			return err == -E2BIG ? 0 : err;
		contexts->places[at] = (uint32_t)contexts->all.len;
	}
	context = &contexts->all.items[contexts->places[at] - 1];
	context->target_ns += target ? ns : 0;
	context->reference_ns += reference ? ns : 0;
	return 0;
}
