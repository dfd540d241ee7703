/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of event/conn_counters.h, for reports. */
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

/* Texts that describe a counter; NULL: none. */
struct counter_text {
	const char *meaning, *filter, *head, *label;
	unsigned int flags;      /* COLUMN_* flags of the table column with the heading `head` */
};

struct counter {
	const char *name;        /* key in the JSON object; NULL: in no object */
	struct counter_text text;
	enum counter_object object;
	enum counter_unit unit;
	uint32_t known;          /* enum conn_known bits the value needs */
	uint16_t at, size;       /* offset and size in bytes in struct event_conn */
};

/* Macros that expand to +1 for a row of CONN_COUNTERS: for each row; if its object is EVENTS. */
#define COUNTER_IS_ONE(...) +1
#define COUNTER_IS_OF_EVENTS(field, value, known, object, ...)                                     \
	+(COUNTER_OF_##object == COUNTER_OF_EVENTS)
enum {
	COUNTERS = 0 CONN_COUNTERS_EACH(COUNTER_IS_ONE),
	COUNTER_EVENTS = 0 CONN_COUNTERS_EACH(COUNTER_IS_OF_EVENTS),
};

/* Returns the counter after `before` in `object`; for NULL the first one; NULL at the end. */
const struct counter *counter_next(const struct counter *before, enum counter_object object);

/* Returns the counter's value; it is meaningless unless counter_is_known(). */
uint64_t counter_value(const struct counter *counter, const struct event_conn *e);
bool counter_is_known(const struct counter *counter, const struct event_conn *e);

/*
 * Fill in the columns of a text table that show counters, and (counter_cells) their cells; return
 * the number, at most COUNTERS. Without `spare`, columns with COLUMN_SPARE are omitted.
 */
size_t counter_columns(struct column *out, bool spare);
size_t counter_cells(struct value *out, const struct event_conn *e, bool spare);

/* Adds all counters of a JSON object to `o`, in the order of CONN_COUNTERS. */
void counter_put(struct object *o, const struct event_conn *e, enum counter_object object);

/* Appends a man(7) section: each counter with its --filter field and its meaning. */
void counter_manual(struct strbuf *out);

#endif
