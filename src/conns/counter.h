/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of event/conn_counters.h, for reports. */
#ifndef HOSTLAT_CONNS_COUNTER_H
#define HOSTLAT_CONNS_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/layout.h"
#include "report/report.h"

enum counter_object {
	COUNTER_OF_NONE,
	COUNTER_OF_EVENTS,
	COUNTER_OF_BYTES,
	COUNTER_OF_CALLS,
	COUNTER_OF_RTT,
	COUNTER_OF_RECOVERY,
	COUNTER_OF_SAMPLES,
};

enum counter_unit { COUNTER_IN_COUNT, COUNTER_IN_SIZE, COUNTER_IN_TIME };

/* Texts of a row; NULL: none. */
struct counter_text {
	const char *meaning, *filter, *head, *label;
	unsigned int flags;      /* COLUMN_* of `head` */
};

struct counter {
	const char *name;        /* in the object; NULL: in none */
	struct counter_text text;
	enum counter_object object;
	enum counter_unit unit;
	uint32_t known;          /* enum conn_known */
	uint16_t at, size;       /* of the member of struct event_conn */
};

/* Number of counters, and of counters in EVENTS. */
#define COUNTER_IS_ONE(...) + 1
#define COUNTER_IS_OF_EVENTS(field, value, known, object, ...)                                     \
	+ (COUNTER_OF_##object == COUNTER_OF_EVENTS)
enum {
	COUNTERS = 0 CONN_COUNTERS_EACH(COUNTER_IS_ONE),
	COUNTER_EVENTS = 0 CONN_COUNTERS_EACH(COUNTER_IS_OF_EVENTS),
};

/* Returns the counter after `before` in the object, the first one for NULL, or NULL at the end. */
const struct counter *counter_next(const struct counter *before, enum counter_object object);

/* Its value; meaningless unless counter_is_known(). */
uint64_t counter_value(const struct counter *counter, const struct event_conn *e);
bool counter_is_known(const struct counter *counter, const struct event_conn *e);

/*
 * Columns of text, and their cells: return how many, at most COUNTERS. Without `spare`, those with
 * COLUMN_SPARE are left out.
 */
size_t counter_columns(struct column *out, bool spare);
size_t counter_cells(struct value *out, const struct event_conn *e, bool spare);

/* Adds all counters of an object of JSON to it, in the order of their rows. */
void counter_put(struct object *o, const struct event_conn *e, enum counter_object object);

/* Appends a section of a manual page, man(7): each counter, its field of --filter, its meaning. */
void counter_manual(struct strbuf *out);

#endif
