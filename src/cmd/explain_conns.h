/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of `explain` about the run's connections. Their limits come from the recording of `hostlat
 * conns`. Where an application was the limit, the server's recording shows the thread's activity.
 */
#ifndef HOSTLAT_CMD_EXPLAIN_CONNS_H
#define HOSTLAT_CMD_EXPLAIN_CONNS_H

#include "diagnose/diagnose.h"
#include "event/reader.h"
#include "report/report.h"

/* Recording of the connections in explain's folder. */
#define EXPLAIN_CONNS "conns.hlat"

struct explain_conns;

/*
 * Reads `path`. `why`: the reason why nothing was recorded, borrowed; NULL: it was. To be freed in
 * either case. 0 or -errno.
 */
int explain_conns_new(struct explain_conns **out, const char *path, const char *why,
		      struct event_reader *server, struct event_reader *load);
void explain_conns_free(struct explain_conns *e);

/*
 * Adds "limits" and sentences to `r`, and fills in `document`, which is initialised, with what
 * `hostlat conns` says of these connections, if there is anything. Both borrow from `e`. 0 or
 * -errno.
 */
int explain_conns_report(struct explain_conns *e, const struct diagnosis *d, struct report *r,
			 struct report *document);

/* Returns true if explain_conns_report() filled in `document`. */
bool explain_conns_known(const struct explain_conns *e);

#endif
