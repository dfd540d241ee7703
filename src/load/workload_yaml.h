/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads in YAML: one document, one mapping of scalars to scalars. The only user of libyaml. */
#ifndef HOSTLAT_LOAD_WORKLOAD_YAML_H
#define HOSTLAT_LOAD_WORKLOAD_YAML_H

#include <stddef.h>

#include "base/strbuf.h"
#include "load/workload_set.h"

/* `name` is the file's, for sentences. Returns 0, -EINVAL or -ENOMEM. */
int workload_yaml(struct workload_settings *settings, const char *name, const void *text,
		  size_t size, struct strbuf *why);

#endif
