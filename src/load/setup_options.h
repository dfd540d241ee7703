/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `hostlat load` that set a run up as it was, from its configuration. */
#ifndef HOSTLAT_LOAD_SETUP_OPTIONS_H
#define HOSTLAT_LOAD_SETUP_OPTIONS_H

#include "load/setup.h"

/*
 * Returns a table {name, value} of the options whose value is not the default, to be repeated as a
 * command: the URLs have no name, flags no value. Secrets are "***", as in the setup, and hosts of
 * agents "HOST": neither is recorded. The seed is left out: another run draws anew.
 */
struct value setup_options(const struct load_setup *setup, struct report *r);

#endif
