/* SPDX-License-Identifier: Apache-2.0 */
/* A filter, as the report asks it. */
#ifndef HOSTLAT_CONNS_KEEPS_H
#define HOSTLAT_CONNS_KEEPS_H

#include <stdbool.h>

struct conn_view;

/* `keep` of struct conns_options; `filter` is a struct filter. */
bool conns_filter_keeps(const struct conn_view *view, void *filter);

#endif
