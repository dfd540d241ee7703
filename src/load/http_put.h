/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests of HTTP/1.1, which http_request.h has compiled. */
#ifndef HOSTLAT_LOAD_HTTP_PUT_H
#define HOSTLAT_LOAD_HTTP_PUT_H

#include "load/protocol.h"

extern const protocol_put http_put[OPERATIONS];

#endif
