/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a connection that several tables show. Unknown values are null. */
#ifndef HOSTLAT_CONNS_WORDS_H
#define HOSTLAT_CONNS_WORDS_H

#include "conns/view.h"
#include "report/report.h"

struct value words_cookie(struct report *r, uint64_t cookie);
struct value words_local(struct report *r, const struct event_flow *flow);
struct value words_remote(struct report *r, const struct event_flow *flow);
/* Returns the namespace's name, or else its cookie. */
struct value words_netns(const struct conn_view *v, struct report *r);

/* Returns the application: container, unit or command, else the task's name. NULL: unknown. */
const char *words_app(const struct conn_view *v);

/*
 * Number of parts of a connection's time, such as send-buffer. The next functions return a part's
 * name, and its value in ns.
 */
#define WORDS_TIMES 5
const char *words_time_name(unsigned int time);
uint64_t words_time(const struct event_conn *e, unsigned int time);

/* Returns {"sender-app": ns, ...}. The next functions return counters of events and of bytes. */
struct object *words_times(const struct event_conn *e, struct report *r);
struct object *words_events(const struct event_conn *e, struct report *r);
struct object *words_bytes(const struct event_conn *e, struct report *r);

/* Returns the value, or null if not all of these bits of enum conn_known are set. */
struct value words_known(const struct event_conn *e, uint32_t bits, struct value v);

/* Parts of congestion_ns, by the reason for which data waited. */
enum words_held {
	WORDS_HELD_REPAIR,         /* losses were repaired */
	WORDS_HELD_WINDOW,         /* the congestion window */
	WORDS_HELD_PACING,
	WORDS_HELD_QUEUE,          /* this host's queueing discipline or network card was full */
	WORDS_HELD,
};

/*
 * Divides congestion_ns, the rest of which is not repair by the numbers of samples. Returns false
 * if pacing and queue are not known apart from the window: ns[WORDS_HELD_WINDOW] has them, too.
 */
bool words_divide_congestion(const struct event_conn *e, uint64_t ns[WORDS_HELD]);
/* Returns the division as an object; parts are null where they are not known apart. */
struct object *words_congestion(const struct event_conn *e, struct report *r);

/* Returns the main limit, a key of words_times(), and its *share of the time. NULL: unknown. */
const char *words_limit(const struct event_conn *e, double *share);

/* Returns how long before `now` the record ends, in ns; 0 if it ends later. */
uint64_t words_age(const struct event_conn *e, uint64_t now);

/* Returns a mask's names of problem classes as a list. The next function: as text with commas. */
struct string_list *words_classes(uint32_t classes, struct report *r);
const char *words_class_line(uint32_t classes, struct report *r);

#endif
