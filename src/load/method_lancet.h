/* SPDX-License-Identifier: Apache-2.0 */
/* --method lancet: the procedure of lancet.h, as a struct method. */
#ifndef HOSTLAT_LOAD_METHOD_LANCET_H
#define HOSTLAT_LOAD_METHOD_LANCET_H

#include "load/method.h"

extern const struct method method_lancet;

#endif
