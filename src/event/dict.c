/* SPDX-License-Identifier: Apache-2.0 */
/* An array of strings per dictionary, and one open-addressing hash over all dictionaries. */
#include "event/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/vec.h"

struct slot {
	uint32_t id;	/* 0: free */
	uint32_t dict;
};

struct event_dict {
	/* strings of each dictionary, at index number - 1; NULL: unknown */
	struct names VEC_OF(char *) names[DICT_MAX];
	struct slot *slots;
	size_t n_slots;	/* slots of the hash table: a power of two, or 0 */
	size_t n_used;
	size_t bytes;
	uint64_t refused;
	uint64_t reported;	/* refused strings that event_dict_put_loss() has reported */
	uint64_t steps;	/* occupied slots skipped in lookups */
	int error;
};

struct event_dict *event_dict_new(void)
{
	struct event_dict *dict = calloc(1, sizeof(*dict));

	if (!dict)
		return NULL;
	for (int i = 0; i < DICT_MAX; i++)
		vec_init(&dict->names[i], EVENT_DICT_NAMES_MAX);
	return dict;
}

void event_dict_free(struct event_dict *dict)
{
	if (!dict)
		return;
	for (int i = 0; i < DICT_MAX; i++) {
		vec_for_each(&dict->names[i], name)
			free(*name);
		vec_release(&dict->names[i]);
	}
	free(dict->slots);
	free(dict);
}

/* Returns the slot of the string, or the free slot where it belongs. */
static struct slot *event_dict_find(struct event_dict *dict, uint32_t which, const char *text,
				    size_t len)
{
	size_t at = hash_bytes(text, len) + which;

	for (;; at++, dict->steps++) {
		struct slot *slot = &dict->slots[at & (dict->n_slots - 1)];
		const char *name;

		if (!slot->id)
			return slot;
		if (slot->dict != which)
			continue;
		name = dict->names[which].items[slot->id - 1];
		if (strncmp(name, text, len) == 0 && name[len] == '\0')
			return slot;
	}
}

static int event_dict_grow(struct event_dict *dict)
{
	const struct event_dict old = *dict;

	if (2 * (dict->n_used + 1) <= dict->n_slots)
		return 0;
	dict->n_slots = old.n_slots ? 2 * old.n_slots : 64;
	dict->slots = calloc(dict->n_slots, sizeof(*dict->slots));
	if (!dict->slots) {
		dict->slots = old.slots;
		dict->n_slots = old.n_slots;
		return -ENOMEM;
	}
	for (size_t i = 0; i < old.n_slots; i++) {
		const struct slot slot = old.slots[i];
		const char *name;

		if (!slot.id)
			continue;
		name = dict->names[slot.dict].items[slot.id - 1];
		*event_dict_find(dict, slot.dict, name, strlen(name)) = slot;
	}
	free(old.slots);
	return 0;
}

/* Appends a string. Returns its number, or 0 with *err set. */
static uint32_t event_dict_append(struct event_dict *dict, uint32_t which, const char *text,
				  size_t len, int *err)
{
	struct names *names = &dict->names[which];
	char *copy = strndup(text, len);

	*err = copy ? vec_push(names, copy) : -ENOMEM;
	if (*err) {
		free(copy);
		return 0;
	}
	dict->bytes += len + 1;
	return names->len;
}

static bool event_dict_has_space(const struct event_dict *dict, uint32_t which, size_t len)
{
	return dict->names[which].len < EVENT_DICT_NAMES_MAX &&
	       dict->bytes + len + 1 <= EVENT_DICT_BYTES_MAX;
}

static uint32_t event_dict_note_error(struct event_dict *dict, int err)
{
	if (!dict->error)
		dict->error = err;
	return 0;
}

uint32_t event_dict_intern(struct event_dict *dict, enum event_dict_id which, const char *text,
			   struct event_sink *sink, uint64_t time)
{
	size_t len;
	struct slot *slot;
	uint32_t id;
	int err;

	BUG_ON((unsigned int)which >= DICT_MAX);
	if (!text)
		return 0;
	len = strnlen(text, EVENT_NAME_MAX - 1);
	err = event_dict_grow(dict);
	if (err)
		return event_dict_note_error(dict, err);
	slot = event_dict_find(dict, which, text, len);
	if (slot->id)
		return slot->id;
	if (!event_dict_has_space(dict, which, len)) {
		dict->refused++;
		return 0;
	}
	id = event_dict_append(dict, which, text, len, &err);
	if (!id)
		return event_dict_note_error(dict, err);
	*slot = (struct slot){ .id = id, .dict = which };
	dict->n_used++;
	if (sink)
		err = event_put_name(sink, time, which, id, dict->names[which].items[id - 1]);
	if (err)
		event_dict_note_error(dict, err);
	return id;
}

static int event_dict_replace(struct event_dict *dict, char **place, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return -ENOMEM;
	if (*place)
		dict->bytes -= strlen(*place) + 1;
	free(*place);
	*place = copy;
	dict->bytes += len + 1;
	return 0;
}

/*
 * Does not add the name to the hash, which only event_dict_intern() needs: a consumer of EV_NAME
 * does not intern into the same dictionary.
 */
int event_dict_set(struct event_dict *dict, const struct event *event)
{
	const struct event_name *name = event->payload;
	struct names *names;
	size_t len;
	int err;

	if (event->kind != EV_NAME || name->dict >= DICT_MAX || name->id == 0)
		return -EINVAL;
	len = strnlen(name->text, EVENT_NAME_MAX - 1);
	if (name->id > EVENT_DICT_NAMES_MAX || dict->bytes + len + 1 > EVENT_DICT_BYTES_MAX) {
		dict->refused++;
		return -E2BIG;
	}
	names = &dict->names[name->dict];
	err = vec_reserve(names, name->id);
	if (err)
		return err;
	while (names->len < name->id)
		names->items[names->len++] = NULL;
	return event_dict_replace(dict, &names->items[name->id - 1], name->text, len);
}

const char *event_dict_get(const struct event_dict *dict, uint32_t which, uint32_t id)
{
	if (which >= DICT_MAX || id == 0 || id > dict->names[which].len)
		return NULL;
	return dict->names[which].items[id - 1];
}

uint64_t event_dict_refused(const struct event_dict *dict)
{
	return dict->refused;
}

int event_dict_put_loss(struct event_dict *dict, struct event_sink *sink, uint64_t time)
{
	const struct event_loss loss = {
		.why = LOSS_DICT_FULL, .kind = EV_NAME, .records = dict->refused - dict->reported,
	};

	dict->reported = dict->refused;
	return loss.records ? event_put(sink, EV_LOSS, time, &loss, sizeof(loss)) : 0;
}

uint64_t event_dict_steps(const struct event_dict *dict)
{
	return dict->steps;
}

int event_dict_error(const struct event_dict *dict)
{
	return dict->error;
}

uint32_t event_dict_len(const struct event_dict *dict, uint32_t which)
{
	return which < DICT_MAX ? dict->names[which].len : 0;
}
