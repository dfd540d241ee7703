/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of `explain` about the run's connections. The recording of `hostlat conns` shows the limit
 * of each connection. If this limit was an application, the server's recording shows the activity
 * of the application's thread.
 */
#ifndef HOSTLAT_CMD_EXPLAIN_CONNS_H
#define HOSTLAT_CMD_EXPLAIN_CONNS_H

#include "diagnose/diagnose.h"
#include "event/reader.h"
#include "report/report.h"

/* Name of the connections' recording in explain's folder. */
#define EXPLAIN_CONNS "conns.hlat"

struct explain_conns;

/*
 * Reads the recording `path`. `why`: borrowed reason why there is no recording; NULL: there is one.
 * Returns 0 or -errno. The caller frees *out in either case.
 */
int explain_conns_new(struct explain_conns **out, const char *path, const char *why,
		      struct event_reader *server, struct event_reader *load);
void explain_conns_free(struct explain_conns *e);

/*
 * Adds "limits" and findings to `r`. If connections were recorded, fills in the initialized report
 * `document` with the result of `hostlat conns` for the run's connections. Both reports borrow from
 * `e`. Returns 0 or -errno.
 */
int explain_conns_report(struct explain_conns *e, const struct diagnosis *d, struct report *r,
			 struct report *document);

/* Returns true if explain_conns_report() filled in `document`. */
bool explain_conns_known(const struct explain_conns *e);

#endif
