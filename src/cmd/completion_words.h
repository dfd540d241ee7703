/* SPDX-License-Identifier: Apache-2.0 */
/* Words that completion offers, from the commands' option rows. */
#ifndef HOSTLAT_CMD_COMPLETION_WORDS_H
#define HOSTLAT_CMD_COMPLETION_WORDS_H

#include "base/opt.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"

/* Adds the names of the commands, each with a space behind it. */
void completion_words_commands(const struct command *const *table, struct strbuf *out);

/* Adds the words that `hostlat help` takes, each with a space behind it. */
void completion_words_help(const struct command *const *table, struct strbuf *out);

/* Adds the values of the row's choices, separated by spaces. */
void completion_words_choices(const struct opt *row, struct strbuf *out);

/*
 * Adds the beginning of a text, whole words of it, for a string in single quotes; the shell's
 * `special` characters get a backslash.
 */
void completion_words_text(const char *text, const char *special, struct strbuf *out);

#endif
