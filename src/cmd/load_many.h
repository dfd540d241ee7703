/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several runs with a common result: a sweep over rates, the search for the highest rate at which a
 * condition holds, repetitions with new connections, or two servers in alternation.
 */
#ifndef HOSTLAT_CMD_LOAD_MANY_H
#define HOSTLAT_CMD_LOAD_MANY_H

#include "base/opt.h"
#include "base/keys.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/load_options.h"
#include "load/condition.h"

struct load_many_options {
	const char *rates, *find_max, *against, *csv;
	uint64_t repeat;
};

extern const struct opt load_many_option_rows[];

#define OPTIONS_LOAD_MANY(config, member)                                                          \
	OPT_ROWS(config, member, struct load_many_options, load_many_option_rows)

/*
 * Return whether the options request several runs (load_many_asked()), and whether they also set
 * the rates of these runs, instead of --rate (load_many_has_rate()).
 */
bool load_many_asked(const struct load_many_options *o);
bool load_many_has_rate(const struct load_many_options *o);

/* Checks the options. Returns 0, or -EINVAL (bad usage) with a sentence for the user in `why`. */
int load_many_check(const struct load_many_options *o, const struct load_options *load,
		    struct strbuf *why);

/*
 * Makes all runs and prints their common result, with its plot, judged by the conditions of
 * --assert. Returns an enum exit_code.
 */
int load_many_run(const struct load_many_options *o, const struct load_options *load,
		  const struct load_conditions *conditions, const struct common_options *common,
		  bool plot, struct stop *stop, struct keys *keys);

#endif
