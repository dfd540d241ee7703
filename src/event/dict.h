/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries: strings that events refer to by number. A producer interns strings (each is put
 * into the stream once, as EV_NAME, before its first use); a consumer passes every EV_NAME to
 * event_dict_set() and looks up numbers.
 */
#ifndef HOSTLAT_EVENT_DICT_H
#define HOSTLAT_EVENT_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "event/source.h"

#define EVENT_DICT_NAMES_MAX 65536u		/* names per dictionary */
#define EVENT_DICT_BYTES_MAX (4u << 20)		/* bytes of all strings together, with NULs */
#define EVENT_NAME_MAX 4096u		/* bytes of a string with its NUL; longer ones are cut */

struct event_dict;

/* Returns NULL without memory. */
struct event_dict *event_dict_new(void);
void event_dict_free(struct event_dict *dict);

/*
 * Returns the number of `text` in `which`, from 1. A new string gets the next number and, if `sink`
 * is not NULL, is put into `sink`. Returns 0 ("none") for NULL and for strings beyond the limits,
 * which are counted. event_dict_error() returns the first error of the sink, or -ENOMEM.
 */
uint32_t event_dict_intern(struct event_dict *dict, enum event_dict_id which, const char *text,
			   struct event_sink *sink, uint64_t time);

/* Stores a stream's EV_NAME; the last string of a number wins. 0, -EINVAL, -E2BIG or -ENOMEM. */
int event_dict_set(struct event_dict *dict, const struct event *name);

/*
 * Returns the string with this number; NULL if unknown: its EV_NAME may have been in a lost part of
 * the file.
 */
const char *event_dict_get(const struct event_dict *dict, uint32_t which, uint32_t id);

/* Returns how many strings exceeded the limits. */
uint64_t event_dict_refused(const struct event_dict *dict);
/* Puts the strings refused since the last call into the stream as EV_LOSS. Returns 0 or -errno. */
int event_dict_put_loss(struct event_dict *dict, struct event_sink *sink, uint64_t time);
/* Returns the number of occupied slots skipped in lookups, which collisions increase. */
uint64_t event_dict_steps(const struct event_dict *dict);
int event_dict_error(const struct event_dict *dict);

/* Returns the highest number in `which`; some numbers below it may be unknown. */
uint32_t event_dict_len(const struct event_dict *dict, uint32_t which);

#endif
