/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a connection of the analysis against a filter. */
#ifndef HOSTLAT_CONNS_FILTER_CONN_H
#define HOSTLAT_CONNS_FILTER_CONN_H

#include <stdbool.h>

struct conn_view;

/*
 * Returns filter_match() of a connection whose problems are known. Suits `select` of struct
 * conns_options; `filter` is a struct filter.
 */
bool filter_conn_match(const struct conn_view *view, void *filter);

#endif
