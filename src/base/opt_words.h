/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a config into the words of a command line that produce it. */
#ifndef HOSTLAT_BASE_OPT_WORDS_H
#define HOSTLAT_BASE_OPT_WORDS_H

#include "base/opt.h"
#include "base/strbuf.h"

/*
 * Adds each word to `out` as a line "PREFIX" WORD "\n", for opt_parse() with the same rows:
 * "--name=value", then "--" and positional arguments. A member that is 0 or NULL counts as not
 * given; rates keep 6 decimals. OPT_SET is not supported. Line ends and backslashes are written as
 * "\n", "\r" and "\\". Returns 0 or the error of `out`.
 */
int opt_words(const struct opt *rows, const void *config, const char *prefix, struct strbuf *out);

/* Replaces "\n", "\r" and "\\" in a word of opt_words(), in place. Returns `word`. */
char *opt_words_unescape(char *word);

#endif
