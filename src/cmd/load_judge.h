/* SPDX-License-Identifier: Apache-2.0 */
/* By what a result is judged, beside its own checks: --assert, --assert-seen and --tolerate. */
#ifndef HOSTLAT_CMD_LOAD_JUDGE_H
#define HOSTLAT_CMD_LOAD_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "load/condition.h"

struct load_judge_options {
	struct opt_list asserts, seen, tolerate;
};

extern const struct opt load_judge_option_rows[];

#define OPTIONS_LOAD_JUDGE(config, member)                                                         \
	OPT_ROWS(config, member, struct load_judge_options, load_judge_option_rows)

struct load_judge {
	struct load_conditions conditions;
	uint64_t tolerated; /* gate_mask() of the reasons */
};

/*
 * Parses the options; `change`: --assert is about the change between two servers. Returns 0 or,
 * after a message, -EINVAL.
 */
int load_judge_parse(const struct load_judge_options *o, bool change, struct load_judge *out);

#endif
