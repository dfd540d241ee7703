/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the settings of a workload by name, for parsers of different text formats. */
#ifndef HOSTLAT_LOAD_WORKLOAD_SET_H
#define HOSTLAT_LOAD_WORKLOAD_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/workload.h"

struct workload_settings {
	struct workload *workload; /* borrowed */
};

/* Initializes `workload` with the defaults. */
void workload_settings_init(struct workload_settings *settings, struct workload *workload);

/*
 * Sets one setting. Returns 0, -EINVAL if the name is unknown or given twice, or the value is
 * invalid, or the error of reading a file that the value names. The sentence in `why` begins with
 * `where`, such as "x.conf, line 3: ".
 */
int workload_set(struct workload_settings *settings, const char *name, const char *value,
		 const char *where, struct strbuf *why);

/* Returns the name of a setting as used in texts. */
const char *workload_setting_name(enum workload_setting setting);

/* Returns whether `name` is a named workload, which "base" accepts. */
bool workload_is_named(const char *name);

#endif
