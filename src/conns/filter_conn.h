/* SPDX-License-Identifier: Apache-2.0 */
/* A filter, asked of a connection of the analysis. */
#ifndef HOSTLAT_CONNS_FILTER_CONN_H
#define HOSTLAT_CONNS_FILTER_CONN_H

#include <stdbool.h>

struct conn_view;

/* Returns filter_match() of a judged connection; `keep` of struct conns_options. `filter` is a
 * struct filter. */
bool filter_match_conn(const struct conn_view *view, void *filter);

#endif
