/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: sentences under the stage table. */
#ifndef HOSTLAT_WATCH_FINDINGS_H
#define HOSTLAT_WATCH_FINDINGS_H

#include "watch/state.h"

/* Adds findings to `r`. Returns 0 or -ENOMEM. */
int watch_findings(const struct watch *w, enum watch_span span, struct report *r);

#endif
