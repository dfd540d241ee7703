/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a sent message: docs/design/diagnose.md, "What is sent". */
#ifndef HOSTLAT_DIAGNOSE_SENDING_H
#define HOSTLAT_DIAGNOSE_SENDING_H

#include "diagnose/way.h"

/* Charges all of it. `w` is at its begin. 0 or -ENOMEM. */
int sending(struct way *w, const struct subject *subject);

#endif
