/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line by a table of options (struct opt). */
#ifndef HOSTLAT_BASE_OPT_PARSE_H
#define HOSTLAT_BASE_OPT_PARSE_H

#include "base/opt.h"
#include "base/strbuf.h"

enum opt_result {
	OPT_PARSED,
	OPT_HELP, /* --help or -h was given; later words were not parsed */
	OPT_HELP_ALL, /* the same of --help-all */
};

/*
 * Fills `config` with the defaults and then with the values from argv[0] to argv[argc - 1], the
 * words after the command's name. Accepts "--name=value", "--name value", "-n value", "-nvalue",
 * joined flags "-ab", and "--" before words that are no options. Of a repeated option the last one
 * counts, but OPT_LIST collects all. Returns an enum opt_result, or -EINVAL with the option and its
 * valid values in `error`. `config` is complete only after OPT_PARSED.
 */
int opt_parse(const struct opt *rows, void *config, int argc, char *const *argv,
	      struct strbuf *error);

#endif
