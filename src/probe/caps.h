/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out, by loading tiny programs, which BPF features this kernel permits. */
#ifndef HOSTLAT_PROBE_CAPS_H
#define HOSTLAT_PROBE_CAPS_H

#include "host/cap.h"

/*
 * Adds the areas "bpf" (kinds of programs and maps) and "hook" (the hooks of each stage and
 * protocol, best first). Unloads all its programs before it returns.
 */
void probe_caps_collect(struct cap_vec *caps);

#endif
