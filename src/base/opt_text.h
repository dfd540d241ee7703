/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows as text for people; see base/opt.h for the rows. */
#ifndef HOSTLAT_BASE_OPT_TEXT_H
#define HOSTLAT_BASE_OPT_TEXT_H

#include "base/opt.h"
#include "base/strbuf.h"

/* "[OPTION]... FILE [NAME]". */
void opt_text_usage(const struct opt *rows, struct strbuf *out);

/* The lists of arguments and options of --help, 80 columns wide. */
void opt_text_help(const struct opt *rows, struct strbuf *out);

/* man(7) source: the words after the command in SYNOPSIS, and the paragraphs of OPTIONS. */
void opt_text_man_synopsis(const struct opt *rows, struct strbuf *out);
void opt_text_man_options(const struct opt *rows, struct strbuf *out);

/* Returns the choices of the option `name`, or NULL if it has none or is not among `rows`. */
const struct opt_choice *opt_text_choices(const struct opt *rows, const char *name);

/* Text as man(7) source: nothing in it is taken for a request. */
void opt_text_man_escape(const char *text, struct strbuf *out);

#endif
