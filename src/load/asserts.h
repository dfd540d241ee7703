/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of --assert in a result, and reasons that come from beside the run. */
#ifndef HOSTLAT_LOAD_ASSERTS_H
#define HOSTLAT_LOAD_ASSERTS_H

#include "base/opt.h"
#include "load/condition.h"
#include "report/report.h"

/*
 * Adds "asserts" to the report, which has the run's verdict already; they are about the latency
 * that the result is about. One that is neither shown nor refuted makes a sound result partial.
 * `fails`: one is refuted. At most OPT_LIST_MAX. Returns 0 or -ENOMEM.
 */
int load_asserts_report(const struct load_condition *conditions, uint32_t n,
			const struct load_analysis *analysis, struct report *r, bool *fails);

/* A reason beside the run itself: a verdict of "ok" becomes "partial". */
void load_reason(struct report *r, const char *code, const char *evidence, const char *message);

#endif
