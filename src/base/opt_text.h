/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a command's options (struct opt of base/opt.h) as help text and man page. */
#ifndef HOSTLAT_BASE_OPT_TEXT_H
#define HOSTLAT_BASE_OPT_TEXT_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/strbuf.h"

/* Adds the usage after the command's name: "[OPTION]... FILE [NAME]". */
void opt_text_usage(const struct opt *rows, struct strbuf *out);

/*
 * Adds the lists of arguments and options of --help, 80 columns wide, by group or, if the command
 * has actions, by these; with `all` those of --help-all, which has the rare options, too.
 */
void opt_text_help(const struct opt *rows, bool all, struct strbuf *out);

/* Returns whether the options include rare ones. */
bool opt_text_has_rare(const struct opt *rows);

/* Add man(7) source: _synopsis() the command lines, one for each action; _options() OPTIONS. */
void opt_text_man_synopsis(const char *command, const struct opt *rows, struct strbuf *out);
void opt_text_man_options(const struct opt *rows, struct strbuf *out);

/* Returns the choices of the option `name`, or NULL if it has none or is not among `rows`. */
const struct opt_choice *opt_text_choices(const struct opt *rows, const char *name);

/* Returns the actions of a command; NULL: it has none. */
const struct opt_choice *opt_text_actions(const struct opt *rows);

/*
 * Adds `text` word by word, in lines of at most 80 columns, and a newline. The cursor is at column
 * `indent`, at which further lines begin.
 */
void opt_text_wrap(struct strbuf *out, const char *text, size_t indent);

/* Adds text as man(7) source, escaped so that nothing in it is a request. */
void opt_text_man_escape(const char *text, struct strbuf *out);

#endif
