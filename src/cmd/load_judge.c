/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "load/gates.h"

const struct opt load_judge_option_rows[] = {
	OPT_LIST(struct load_judge_options, asserts, .name = "assert",
		 .group = OPT_MEASURE, .metavar = "CONDITION",
		 .excludes = "rates,find-max",
		 .help = "Exit with 4 if this condition fails, with 3 if the run cannot decide it, "
			 "such as 'p99<500us'; with --repeat, of all runs together; with "
			 "--against, of the second server, such as 'p99<+20%'"),
	OPT_LIST(struct load_judge_options, seen, .name = "assert-seen",
		 .group = OPT_MEASURE, .metavar = "CONDITION",
		 .excludes = "rates,find-max,against",
		 .help = "Like --assert, but the requests of this run decide, failed ones "
			 "included, without bounds: exit with 4 or 0 even where the result is "
			 "n/a; with --repeat, more than half of the runs decide"),
	OPT_LIST(struct load_judge_options, tolerate, .name = "tolerate",
		 .group = OPT_MEASURE, .rare = true, .metavar = "REASON",
		 .excludes = "rates,find-max,repeat,against",
		 .help = "Report this reason, such as host-noisy, as a finding instead of n/a; "
			 "bounds stay as they are"),
	OPT_END,
};

static int load_judge_add(const struct opt_list *texts, const char *option, bool change,
			  struct load_conditions *out)
{
	for (uint32_t i = 0; i < texts->len; i++) {
		struct load_condition *c = &out->list[out->n++];
		int err = change ? load_condition_parse_change(texts->items[i], c) :
				   load_condition_parse(texts->items[i], c);

		if (err) {
			log_error("load: %s%s takes %s, not '%s'", option,
				  change ? " with --against" : "",
				  change ? LOAD_CONDITION_CHANGE_TAKES : LOAD_CONDITION_TAKES,
				  texts->items[i]);
			return -EINVAL;
		}
	}
	return 0;
}

/* Parses the reasons of --tolerate, which commas may separate, into a mask of gates. */
static int load_judge_tolerated(const struct load_judge_options *o, uint64_t *out)
{
	*out = 0;
	for (uint32_t i = 0; i < o->tolerate.len; i++) {
		const char *at = o->tolerate.items[i];

		for (size_t len = strcspn(at, ",");; len = strcspn(at, ",")) {
			char code[64];
			uint64_t mask;

			snprintf(code, sizeof(code), "%.*s", (int)len, at);
			mask = gate_mask(code);
			if (!mask) {
				log_error("load: --tolerate takes a reason for n/a, such as "
					  "host-noisy, not '%s'", code);
				return -EINVAL;
			}
			*out |= mask;
			if (!at[len])
				break;
			at += len + 1;
		}
	}
	return 0;
}

int load_judge_parse(const struct load_judge_options *o, bool change, struct load_judge *out)
{
	int err;

	*out = (struct load_judge){ 0 };
	err = load_judge_add(&o->asserts, "--assert", change, &out->conditions);
	if (!err)
		err = load_judge_add(&o->seen, "--assert-seen", false, &out->conditions);
	for (uint32_t i = o->asserts.len; !err && i < out->conditions.n; i++)
		out->conditions.list[i].seen = true;
	return err ? err : load_judge_tolerated(o, &out->tolerated);
}
