/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timeline_places.h"

#include <stdlib.h>

#include "base/hash.h"

#define PLACES_ROOM (2 * TIMELINE_PLACES_MAX)

void timeline_places_release(struct timeline_places *places)
{
	free(places->at);
}

/* Looks a control group up. Unknown ones are remembered, too: the lookup is made once. */
static void timeline_places_find(struct timeline_places *places, struct event_writer *writer,
				 struct timeline_place *place)
{
	struct timeline_path path = { 0 };

	if (places->lookup.place(places->lookup.ctx, place->id, &path))
		return;
	place->cgroup = event_writer_intern(writer, DICT_CGROUP, path.cgroup);
	if (path.unit[0])
		place->unit = event_writer_intern(writer, DICT_UNIT, path.unit);
}

const struct timeline_place *timeline_places_get(struct timeline_places *places,
						 struct event_writer *writer, uint64_t id)
{
	uint32_t i = (uint32_t)hash_u64(id) & (PLACES_ROOM - 1);

	if (!id || !places->lookup.place)
		return NULL;
	if (!places->at)
		places->at = calloc(PLACES_ROOM, sizeof(*places->at));
	if (!places->at)
		return NULL;
	while (places->at[i].id && places->at[i].id != id)
		i = (i + 1) & (PLACES_ROOM - 1);
	if (!places->at[i].id) {
		if (places->n == TIMELINE_PLACES_MAX)
			return NULL;
		places->n++;
		places->at[i].id = id;
		timeline_places_find(places, writer, &places->at[i]);
	}
	return places->at[i].cgroup ? &places->at[i] : NULL;
}
