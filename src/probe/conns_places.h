/* SPDX-License-Identifier: Apache-2.0 */
/* Where the programs of `conns` hang, and what this kernel takes of it. */
#ifndef HOSTLAT_PROBE_CONNS_PLACES_H
#define HOSTLAT_PROBE_CONNS_PLACES_H

#include <stddef.h>

#include "base/strbuf.h"
#include "host/cap.h"
#include "probe/conns_told.h"

struct conns_bpf;

/*
 * Chooses what is to be loaded of an open skeleton, and says so in `told`; lines "name: why" of
 * what this kernel can't tell go to `absent`. 0, or -errno with the reason in words in `why`
 * (none if it is that it isn't permitted): it can't tell of connections at all.
 */
int conns_places_select(struct conns_bpf *skel, struct conns_told *told, struct strbuf *absent,
			char *why, size_t size);

/* Adds the area "conns": each thing tried by itself, and then all together. Nothing is left. */
void conns_caps(struct cap_vec *caps);

#endif
