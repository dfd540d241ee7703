/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the conditions of --assert and --assert-seen, and reasons that do not come from the run
 * itself.
 */
#ifndef HOSTLAT_LOAD_ASSERTS_H
#define HOSTLAT_LOAD_ASSERTS_H

#include "load/condition.h"
#include "load/summary.h"
#include "report/report.h"

struct load_asserts {
	bool fails;   /* a condition is refuted */
	/*
	 * a condition is refuted, or all are decided: whether the result is sound elsewhere does
	 * not matter
	 */
	bool settled;
};

/*
 * Adds the table "asserts" to a report that already has the run's verdict. Conditions apply to the
 * main latency of the result. A condition of --assert that is neither shown nor refuted makes a
 * sound result partial. Returns 0 or -ENOMEM.
 */
int load_asserts_report(const struct load_conditions *conditions,
			const struct load_analysis *analysis, struct report *r,
			struct load_asserts *out);

/*
 * Returns whether conditions of one run are settled, and no reason in its report speaks of anything
 * but its own checks: of damaged input, of output that could not be written.
 */
bool load_asserts_settle(const struct load_asserts *asserts, const struct report *r);

/*
 * Judges the conditions of --assert-seen by the requests of one run of several: sets
 * out->seen_holds and out->seen_fails. `r` has the run's reasons.
 */
void load_asserts_see_run(const struct load_conditions *conditions,
			  const struct load_analysis *analysis, struct report *r,
			  struct load_summary *out);

/* A judged condition, for load_asserts_add(). */
struct load_assert {
	const struct load_condition *condition;
	enum load_truth truth;
	struct load_quantile quantile; /* unknown for a change */
	uint64_t of, beyond;           /* requests or runs, and those beyond the limit; 0: none */
	struct load_drift drift;       /* as in load_scope; 0, 0: not judged by bounds */
	uint64_t least_ns;             /* lower bound that refutes it alone; 0: none was needed */
	const char *to_do;             /* advice for an open condition; NULL: none */
	const char *words;             /* the measured value; belongs to the report */
};

/* Adds the table "asserts" and its lines of text. */
void load_asserts_add(const struct load_assert *asserts, uint32_t n, struct report *r);

/* Adds a reason that does not come from the run itself: a verdict "ok" becomes "partial". */
void load_reason(struct report *r, const char *code, const char *evidence, const char *message);

#endif
