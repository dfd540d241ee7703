/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of the programs of `conns`, and the selection of hooks that this kernel accepts. */
#ifndef HOSTLAT_PROBE_CONNS_HOOKS_H
#define HOSTLAT_PROBE_CONNS_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "host/cap.h"
#include "probe/common/refusal.h"
#include "probe/connection/conn_delta.h"

struct conns_bpf;

/*
 * Chooses the programs and maps of an open skeleton, except refused ones. Stores the values then
 * known in `delta`, and in `absent`, cleared first, lines "name: why; without it, ...". Returns 0,
 * or -errno if no connection can be followed, with the reason in `why`; `why` stays empty if the
 * process lacks the privilege.
 */
int conns_hooks_select(struct conns_bpf *skel, const struct refusals *refused,
		       struct conn_delta *delta, struct strbuf *absent, char *why, size_t size);

/* Returns whether this process has the capabilities for loading BPF programs. */
bool conns_hooks_permitted(void);

/*
 * Adds to `caps`, as area "conns", which hooks this kernel accepts: tries each hook alone, then
 * loads and unloads all programs.
 */
void conns_caps(struct cap_vec *caps);

#endif
