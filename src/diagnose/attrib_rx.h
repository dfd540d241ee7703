/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each nanosecond of one message is charged to. The rules: docs/design/diagnose.md.
 *
 * The slices of a message follow each other without gap or overlap from the arrival of its first
 * byte to the end of its last piece (sent: from its call's entry until a driver has its last byte),
 * whatever the recording holds: what it does not tell is blind.
 */
#ifndef HOSTLAT_DIAGNOSE_ATTRIB_RX_H
#define HOSTLAT_DIAGNOSE_ATTRIB_RX_H

#include "diagnose/slice.h"

/* Empties what is the partition's own, before its first use; and after its last one, frees it. */
void attrib_init(struct attrib_env *env);
void attrib_release(struct attrib_env *env);

/* The history must reach from what attrib_from() says to the message's end. 0 or -ENOMEM. */
int attrib_message(struct attrib_env *env, const struct subject *subject);

/* From when on, and up to when, the history has to be for this message. */
uint64_t attrib_from(const struct messages *messages, const struct subject *subject);
uint64_t attrib_until(const struct messages *messages, const struct subject *subject);

#endif
