/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that are judged together: a sweep over rates, the search for the highest rate at which a
 * condition holds, repetitions with new connections, two servers in alternation.
 */
#ifndef HOSTLAT_CMD_LOAD_MANY_H
#define HOSTLAT_CMD_LOAD_MANY_H

#include "base/opt.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/load_options.h"

struct load_many_options {
	const char *rates, *find_max, *against, *csv;
	uint64_t repeat;
};

extern const struct opt load_many_option_rows[];

#define OPTIONS_LOAD_MANY(config, member)                                                          \
	OPT_ROWS(config, member, struct load_many_options, load_many_option_rows)

/* Return whether many runs are requested, and whether these have rates of their own. */
bool load_many_asked(const struct load_many_options *o);
bool load_many_has_rate(const struct load_many_options *o);

/* Checks the options. Returns as load_options_check(). */
int load_many_check(const struct load_many_options *o, const struct load_options *load,
		    struct strbuf *why);

/* Makes all runs and prints their common result. Returns an enum exit_code. */
int load_many_run(const struct load_many_options *o, const struct load_options *load,
		  const struct common_options *common, struct stop *stop);

#endif
