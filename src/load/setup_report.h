/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_LOAD_SETUP_REPORT_H
#define HOSTLAT_LOAD_SETUP_REPORT_H

#include "load/setup.h"

/* Adds "setup" to the report, and a line of text with its main values. */
void load_setup_report(const struct load_setup *setup, struct report *r);

#endif
