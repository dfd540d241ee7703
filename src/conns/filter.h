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
 * A comparison with an unknown value is unknown, and so is its `not`. A connection is shown only
 * if the filter is true (Kleene's logic: unknown or true is true).
 */
#ifndef HOSTLAT_CONNS_FILTER_H
#define HOSTLAT_CONNS_FILTER_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "conns/filter_view.h"

#define FILTER_LENGTH_MAX 4096	/* characters */
#define FILTER_TERMS_MAX 128
#define FILTER_DEPTH_MAX 32	/* nesting of parentheses and nots */

struct filter;

/*
 * Returns 0 and a filter, owned by the caller; an empty text selects all connections. Returns
 * -EINVAL or, beyond a limit, -E2BIG: `why` then says where (letters count from 1) and what was
 * expected. Or -ENOMEM.
 */
int filter_parse(const char *text, struct filter **out, struct strbuf *why);
void filter_free(struct filter *filter);

/* Returns true if the filter is true for the connection; false also if that is unknown. */
bool filter_match(const struct filter *filter, const struct filter_view *view);

#endif
