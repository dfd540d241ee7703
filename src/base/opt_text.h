/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows as text for people and shells; see base/opt.h for the rows. */
#ifndef HOSTLAT_BASE_OPT_TEXT_H
#define HOSTLAT_BASE_OPT_TEXT_H

#include "base/opt.h"
#include "base/strbuf.h"

/* "[--interval TIME] [--json] FILE", wrapped at `width` columns with `indent` spaces. */
void opt_text_usage(const struct opt *rows, struct strbuf *out, int indent, int width);

/* The option list of --help. */
void opt_text_help(const struct opt *rows, struct strbuf *out);

/* man(7) source: the words after the command in SYNOPSIS, and the paragraphs of OPTIONS. */
void opt_text_man_synopsis(const struct opt *rows, struct strbuf *out);
void opt_text_man_options(const struct opt *rows, struct strbuf *out);

#endif
