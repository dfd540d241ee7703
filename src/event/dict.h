/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries: strings that events name by number. A producer interns (each string is put into
 * the stream once, as EV_NAME, before its first use); a consumer feeds every EV_NAME to
 * event_dict_set() and looks numbers up.
 */
#ifndef HOSTLAT_EVENT_DICT_H
#define HOSTLAT_EVENT_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "event/source.h"

#define EVENT_DICT_NAMES_MAX 65536u		/* per dictionary */
#define EVENT_DICT_BYTES_MAX (4u << 20)		/* of all strings together, NULs included */
#define EVENT_NAME_MAX 4096u		/* bytes of a string with its NUL; longer is cut */

struct event_dict;

/* Returns NULL without memory. */
struct event_dict *event_dict_new(void);
void event_dict_free(struct event_dict *dict);

/*
 * The number of `text` in `which`, from 1. A new string is given the next number and, if `sink` is
 * not NULL, is put into it. 0, "none", for NULL and for strings beyond the limits (counted). The
 * first error of the sink or -ENOMEM is kept, see event_dict_error().
 */
uint32_t event_dict_intern(struct event_dict *dict, enum event_dict_id which, const char *text,
			   struct event_sink *sink, uint64_t time);

/* Stores a stream's EV_NAME; the last string of a number wins. 0, -EINVAL, -E2BIG, -ENOMEM. */
int event_dict_set(struct event_dict *dict, const struct event *name);

/* NULL if the number is unknown: the dictionary may have been in a lost part of the file. */
const char *event_dict_get(const struct event_dict *dict, uint32_t which, uint32_t id);

/* How often a string was not kept because of the limits. */
uint64_t event_dict_refused(const struct event_dict *dict);
/* Puts what was refused since the last call into the stream, if anything. 0 or -errno. */
int event_dict_put_loss(struct event_dict *dict, struct event_sink *sink, uint64_t time);
/* Slots that were passed because another string has them: what a hash that is known would cost. */
uint64_t event_dict_steps(const struct event_dict *dict);
int event_dict_error(const struct event_dict *dict);

/* Numbers in `which` are 1 to this; some of them may be unknown. */
uint32_t event_dict_len(const struct event_dict *dict, uint32_t which);

#endif
