/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the vocabulary, the same in options, JSON, metrics and documentation. A number out
 * of range has the name "unknown". Strings are constants.
 */
#ifndef HOSTLAT_EVENT_NAMES_H
#define HOSTLAT_EVENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

const char *stage_name(unsigned int stage);
enum direction stage_direction(unsigned int stage);
/*
 * A stage's place on a packet's way, 0 to STAGE_MAX - 1, and the stage at a place: the order of
 * tables and of steps. A stage that was added later has a number behind all others.
 */
unsigned int stage_place(unsigned int stage);
unsigned int stage_at_place(unsigned int place);
/*
 * Returns true if the hook of TCP's `transport` is one of those that hostlat 0.1 used there: they
 * fire when the socket takes the segment, which is `socket`.
 */
bool stage_was_socket(unsigned int stage, unsigned int protocol, const char *hook);

const char *origin_name(unsigned int origin);

const char *direction_name(unsigned int direction);

/* "tcp", "udp", "any" */
const char *protocol_name(unsigned int protocol);

const char *dist_name(unsigned int dist);
const char *group_key_name(unsigned int key);

#endif
