/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a sent message: docs/design/diagnose.md, "What is sent". */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_TX_H
#define HOSTLAT_DIAGNOSE_ATTRIB_TX_H

#include "diagnose/attrib.h"

/* Charges all of it. `w` is at its begin. 0 or -ENOMEM. */
int attrib_sent(struct attribution *a, const struct subject *subject);

#endif
