/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a workload, by name; for those who read them from some kind of text. */
#ifndef HOSTLAT_LOAD_WORKLOAD_SET_H
#define HOSTLAT_LOAD_WORKLOAD_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/workload.h"

struct workload_settings {
	struct workload *workload; /* borrowed */
};

/* Puts the defaults into `workload`. */
void workload_settings_init(struct workload_settings *settings, struct workload *workload);

/*
 * One setting. Returns 0 or -EINVAL: unknown, given twice, or a value that it doesn't take. `where`
 * is put before the sentence ("x.conf, line 3: ").
 */
int workload_set(struct workload_settings *settings, const char *name, const char *value,
		 const char *where, struct strbuf *why);

/* What it is called in the text. */
const char *workload_setting_name(enum workload_setting setting);

/* Of "base". */
bool workload_is_named(const char *name);

#endif
