/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel lets BPF programs do, found out by loading tiny ones. */
#ifndef HOSTLAT_PROBE_CAPS_H
#define HOSTLAT_PROBE_CAPS_H

#include "host/cap.h"

/*
 * Adds the areas "bpf" (kinds of programs and maps) and "hook" (what can measure each stage, by
 * stage and protocol, best first). Everything that is loaded is gone when this returns.
 */
void probe_caps_collect(struct cap_vec *caps);

#endif
