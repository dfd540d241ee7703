/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects connections by an expression as in ss(8): "dport = :443 and not src 10.0.0.0/8". Pure,
 * except for names of services, which the C library looks up.
 *
 *     filter  := and-list ( or and-list )*
 *     and-list:= unary ( [and] unary )*
 *     unary   := not unary | ( filter ) | term
 *     term    := FIELD [OP] VALUE
 *
 * Words: and && &, or || |, not !, = == eq, != ne neq, < lt, <= le leq, > gt, >= ge geq; without
 * OP it is =. `or` binds least, as ss's manual says (its parser takes both from left to right).
 * Fields are in the table of filter_term.c. Values: words, or text in " or ' with \ before either;
 * addresses with /PREFIX and :PORT as in ss, IPv6 in brackets; numbers with units (10ms, 64K, 5%).
 *
 * What is not known is neither: a comparison with it is unknown, so is `not` of that, and a
 * connection is shown only for what is true of it (Kleene's logic: unknown or true is true).
 */
#ifndef HOSTLAT_CONNS_FILTER_H
#define HOSTLAT_CONNS_FILTER_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "conns/filter_view.h"

#define FILTER_LENGTH_MAX 4096	/* letters */
#define FILTER_TERMS_MAX 128
#define FILTER_DEPTH_MAX 32	/* of parentheses and nots */

struct filter;

/*
 * 0 with a filter, owned by the caller; an empty text is all connections. -EINVAL with a sentence
 * in `why` that says where (letters from 1) and what was expected; -E2BIG beyond a limit,
 * likewise; -ENOMEM.
 */
int filter_parse(const char *text, struct filter **out, struct strbuf *why);
void filter_free(struct filter *filter);

/* Is the filter true of it? Not if that is unknown. */
bool filter_match(const struct filter *filter, const struct filter_view *view);

#endif
