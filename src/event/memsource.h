/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of records in memory: a sink on one side, a source on the other. The live probe puts the
 * deltas of an interval in and the analysis reads them; tests need no file.
 */
#ifndef HOSTLAT_EVENT_MEMSOURCE_H
#define HOSTLAT_EVENT_MEMSOURCE_H

#include "event/source.h"

struct event_memsource;

/*
 * Returns 0, -ENOMEM or -EINVAL. `limit`: most bytes of queued records, at least EVENT_BLOCK_SIZE;
 * beyond it, a put returns -ENOBUFS and the damage counts the record.
 */
int event_memsource_new(struct event_memsource **out, size_t limit);
void event_memsource_free(struct event_memsource *mem);

/* Return the source and sink of `mem`; freeing the source frees `mem`. next(): 0 if empty. */
struct event_source *event_memsource_source(struct event_memsource *mem);
struct event_sink *event_memsource_sink(struct event_memsource *mem);

#endif
