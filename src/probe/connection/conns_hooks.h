/* SPDX-License-Identifier: Apache-2.0 */
/* Where the programs of `conns` hang, and what this kernel takes of it. */
#ifndef HOSTLAT_PROBE_CONNS_HOOKS_H
#define HOSTLAT_PROBE_CONNS_HOOKS_H

#include <stddef.h>

#include "base/strbuf.h"
#include "host/cap.h"
#include "probe/connection/conn_delta.h"
#include "probe/common/refusal.h"

struct conns_bpf;

/*
 * Chooses what is to be loaded of an open skeleton, without what was refused before, and notes in
 * `told` what is known then; lines "name: why; without it, ..." go to `absent`, which begins anew.
 * Returns 0, or -errno if no connection can be followed, with the reason in words in `why`: none if
 * the process lacks the privilege.
 */
int conns_hooks_select(struct conns_bpf *skel, const struct refusals *refused,
		       struct conn_delta *delta, struct strbuf *absent, char *why, size_t size);

/* Whether this process has the capabilities that loading takes. */
bool conns_hooks_permitted(void);

/* Adds the area "conns": each thing tried by itself, and then all together. Nothing is left. */
void conns_caps(struct cap_vec *caps);

#endif
