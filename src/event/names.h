/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of stages, origins and other enums, as in options, JSON, metrics and documentation. A
 * number out of range has the name "unknown". Strings are constants.
 */
#ifndef HOSTLAT_EVENT_NAMES_H
#define HOSTLAT_EVENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

const char *stage_name(unsigned int stage);
enum direction stage_direction(unsigned int stage);
/*
 * Return a stage's position in a packet's path, 0 to STAGE_MAX - 1, and the stage at a position:
 * the order of tables and steps. Numbers differ: a stage added later has a higher number.
 */
unsigned int stage_place(unsigned int stage);
unsigned int stage_at_place(unsigned int place);
/*
 * Returns true if the hook is one that hostlat 0.1 used for TCP's `transport` and that fires when
 * the socket processes the segment: that stage is now `socket`.
 */
bool stage_was_socket(unsigned int stage, unsigned int protocol, const char *hook);

const char *origin_name(unsigned int origin);

const char *direction_name(unsigned int direction);

/* Returns "tcp", "udp" or "any". */
const char *protocol_name(unsigned int protocol);

const char *dist_name(unsigned int dist);
const char *group_key_name(unsigned int key);

#endif
