/* SPDX-License-Identifier: Apache-2.0 */
#include "event/names.h"

#include <stddef.h>
#include <string.h>

#include "base/bug.h"

#define STAGE_NAME(NAME, value, name, when) [value] = name,
static const char *const stages[STAGE_MAX] = { [STAGE_NONE] = "none", STAGE_LIST(STAGE_NAME) };

#define PLACE_NAME(NAME, value, name, when) PLACE_##NAME,
enum stage_place_number { PLACE_NONE, STAGE_LIST(PLACE_NAME) PLACES };
_Static_assert((int)PLACES == (int)STAGE_MAX, "each value is a stage's");

#define PLACE_OF(NAME, value, name, when) [value] = PLACE_##NAME,
static const uint8_t places[STAGE_MAX] = { STAGE_LIST(PLACE_OF) };

#define STAGE_AT(NAME, value, name, when) [PLACE_##NAME] = value,
static const uint8_t stages_by_place[PLACES] = { STAGE_LIST(STAGE_AT) };

static const char *const origins[ORIGIN_MAX] = {
	[ORIGIN_NONE] = "none",
	[ORIGIN_RAISE] = "raise",
	[ORIGIN_LINK] = "link",
	[ORIGIN_STACK] = "stack",
	[ORIGIN_DELIVER] = "deliver",
	[ORIGIN_SENDER] = "sender",
	[ORIGIN_DEPARTURE] = "departure",
	[ORIGIN_SEND] = "send",
};

static const char *const directions[DIR_MAX] = {
	[DIR_INGRESS] = "ingress",
	[DIR_EGRESS] = "egress",
};

static const char *const protocols[PROTO_MAX] = {
	[PROTO_ANY] = "any",
	[PROTO_TCP] = "tcp",
	[PROTO_UDP] = "udp",
};

static const char *const dists[DIST_MAX] = {
	[DIST_LATENCY] = "latency",
	[DIST_STEP] = "step",
	[DIST_YOUNGEST] = "youngest",
	[DIST_CPU_WAIT] = "cpu-wait",
	[DIST_PACING] = "pacing",
	[DIST_HOL] = "hol",
	[DIST_GRO] = "gro",
	[DIST_BACKLOG] = "backlog",
};

static const char *const group_keys[GROUP_KEY_MAX] = {
	[GROUP_NONE] = "none",
	[GROUP_CGROUP] = "cgroup",
	[GROUP_NETNS] = "netns",
	[GROUP_IFINDEX] = "ifindex",
	[GROUP_PORT] = "port",
	[GROUP_CPU] = "cpu",
	[GROUP_RXQ] = "rxq",
	[GROUP_COMM] = "comm",
};

static const char *event_name_of(const char *const *words, size_t n, unsigned int value)
{
	return value < n && words[value] ? words[value] : "unknown";
}

const char *stage_name(unsigned int stage)
{
	return event_name_of(stages, ARRAY_LEN(stages), stage);
}

enum direction stage_direction(unsigned int stage)
{
	const uint32_t sent = EGRESS_STAGES | 1U << STAGE_SEND;

	return stage < STAGE_MAX && sent >> stage & 1 ? DIR_EGRESS : DIR_INGRESS;
}

unsigned int stage_place(unsigned int stage)
{
	return stage < STAGE_MAX ? places[stage] : stage;
}

unsigned int stage_at_place(unsigned int place)
{
	return place < PLACES ? stages_by_place[place] : place;
}

bool stage_was_socket(unsigned int stage, unsigned int protocol, const char *hook)
{
	return stage == STAGE_TRANSPORT && protocol == PROTO_TCP && hook &&
	       (strcmp(hook, "tcp_probe") == 0 || strcmp(hook, "tcp_rcv_established") == 0);
}

const char *origin_name(unsigned int origin)
{
	return event_name_of(origins, ARRAY_LEN(origins), origin);
}

const char *direction_name(unsigned int direction)
{
	return event_name_of(directions, ARRAY_LEN(directions), direction);
}

const char *protocol_name(unsigned int protocol)
{
	return event_name_of(protocols, ARRAY_LEN(protocols), protocol);
}

const char *dist_name(unsigned int dist)
{
	return event_name_of(dists, ARRAY_LEN(dists), dist);
}

const char *group_key_name(unsigned int key)
{
	return event_name_of(group_keys, ARRAY_LEN(group_keys), key);
}
