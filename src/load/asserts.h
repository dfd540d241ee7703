/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the conditions of --assert, and reasons that do not come from the run itself. */
#ifndef HOSTLAT_LOAD_ASSERTS_H
#define HOSTLAT_LOAD_ASSERTS_H

#include "base/opt.h"
#include "load/condition.h"
#include "report/report.h"

/*
 * Adds the table "asserts" to a report that already has the run's verdict. Conditions apply to the
 * main latency of the result. A condition that is neither shown nor refuted makes a sound result
 * partial. Sets `fails` if a condition is refuted. n is at most OPT_LIST_MAX. Returns 0 or -ENOMEM.
 */
int load_asserts_report(const struct load_condition *conditions, uint32_t n,
			const struct load_analysis *analysis, struct report *r, bool *fails);

/* Adds a reason that does not come from the run itself: a verdict "ok" becomes "partial". */
void load_reason(struct report *r, const char *code, const char *evidence, const char *message);

#endif
