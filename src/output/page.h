/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report page without its data: web/, bundled by the build (web/bundle). The title and the data
 * are inserted between its three pieces.
 */
#ifndef HOSTLAT_OUTPUT_PAGE_H
#define HOSTLAT_OUTPUT_PAGE_H

#include <stddef.h>

extern const char page_before_title[], page_before_data[], page_after_data[];
extern const size_t page_before_title_size, page_before_data_size, page_after_data_size;

#endif
