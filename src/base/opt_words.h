/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a config into the words of a command line that give it. */
#ifndef HOSTLAT_BASE_OPT_WORDS_H
#define HOSTLAT_BASE_OPT_WORDS_H

#include "base/opt.h"
#include "base/strbuf.h"

/*
 * Adds each word to `out` as a line "PREFIX" WORD "\n", to be read by opt_parse() of the same rows:
 * "--name=value", then "--" and positional ones. What is 0 or NULL is taken for not given; rates
 * keep 6 decimals. Rows of OPT_SET are not for this. Returns 0; -EINVAL if a text has a line end in
 * it; or the error of `out`.
 */
int opt_words(const struct opt *rows, const void *config, const char *prefix, struct strbuf *out);

#endif
