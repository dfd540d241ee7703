/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the vocabulary, the same in options, JSON, metrics and documentation. A number out
 * of range has the name "unknown"; an unknown word is -1. Strings are constants.
 */
#ifndef HOSTLAT_EVENT_NAMES_H
#define HOSTLAT_EVENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/layout.h"

const char *stage_name(unsigned int stage);
int stage_parse(const char *name);
/* "the stack receives the packet": completes "reached when". */
const char *stage_reached_when(unsigned int stage);
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
int origin_parse(const char *name);
/* What the stamp is, in a few words. */
const char *origin_meaning(unsigned int origin);

const char *direction_name(unsigned int direction);
int direction_parse(const char *name);

/* "tcp", "udp", "any" */
const char *protocol_name(unsigned int protocol);
int protocol_parse(const char *name);

const char *dist_name(unsigned int dist);
const char *dict_name(unsigned int dict);
const char *group_key_name(unsigned int key);
int group_key_parse(const char *name);
const char *loss_why_name(unsigned int why);
const char *span_type_name(unsigned int type);

const char *event_kind_name(unsigned int kind);
int event_kind_parse(const char *name);

#endif
