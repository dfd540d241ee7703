/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by option rows. */
#ifndef HOSTLAT_BASE_OPT_PARSE_H
#define HOSTLAT_BASE_OPT_PARSE_H

#include "base/opt.h"
#include "base/strbuf.h"

enum opt_result {
	OPT_PARSED,
	OPT_HELP, /* --help or -h was given; the words after it were not read */
};

/*
 * Fills `config` with the defaults and then with what argv[0] to argv[argc - 1] say: the words
 * after the command's name. Takes "--name=value", "--name value", "-n value", "-nvalue", joined
 * flags "-ab", and "--" before words that are no options. A repeated option: the last one counts,
 * except OPT_LIST, which collects. Returns an enum opt_result or -EINVAL, and then `error` says
 * which option and what it takes. `config` is only complete after OPT_PARSED.
 */
int opt_parse(const struct opt *rows, void *config, int argc, char *const *argv,
	      struct strbuf *error);

#endif
