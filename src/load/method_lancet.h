/* SPDX-License-Identifier: Apache-2.0 */
/* --method lancet. The procedure of lancet.h as a row for the analysis. */
#ifndef HOSTLAT_LOAD_METHOD_LANCET_H
#define HOSTLAT_LOAD_METHOD_LANCET_H

#include "load/method.h"

extern const struct method method_lancet;

#endif
