/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the vocabulary that only scripts and dumps of tests use. */
#ifndef HOSTLAT_TESTS_EVENT_WORDS_H
#define HOSTLAT_TESTS_EVENT_WORDS_H

#include <string.h>

#include "event/names.h"

static const char *const event_kind_words[EV_KIND_MAX] = {
	[EV_FACT] = "fact", [EV_NAME] = "name", [EV_CLOCK] = "clock", [EV_HIST] = "hist",
	[EV_COUNT] = "count", [EV_BINDING] = "binding", [EV_SHARE] = "share",
	[EV_CULPRIT] = "culprit", [EV_INTERVAL] = "interval", [EV_GROUP] = "group",
	[EV_LOSS] = "loss", [EV_DOMAIN] = "domain", [EV_CLOCK_PARAM] = "clock-param",
	[EV_FLOW] = "flow", [EV_MESSAGE] = "message", [EV_LOAD] = "load", [EV_NOISE] = "noise",
	[EV_SLOW] = "slow", [EV_QUEUE] = "queue", [EV_SOFTNET] = "softnet",
	[EV_PRESSURE] = "pressure", [EV_EDGE] = "edge", [EV_SAMPLE] = "sample",
	[EV_TASK] = "task", [EV_CONN] = "conn", [EV_WAKE] = "wake", [EV_CALL] = "call",
};

static const char *const span_type_words[SPAN_TYPE_MAX] = {
	[SPAN_TASK] = "task", [SPAN_IDLE] = "idle", [SPAN_HARDIRQ] = "hardirq",
	[SPAN_SOFTIRQ] = "softirq", [SPAN_SYSCALL] = "syscall", [SPAN_FUNCTION] = "function",
	[SPAN_FAULT] = "fault", [SPAN_BLIND] = "blind",
};

static inline const char *event_kind_name(unsigned int kind)
{
	return kind < EV_KIND_MAX && event_kind_words[kind] ? event_kind_words[kind] : "unknown";
}

static inline const char *span_type_name(unsigned int type)
{
	return type < SPAN_TYPE_MAX && span_type_words[type] ? span_type_words[type] : "unknown";
}

/* Returns the value below `end` that has this name, -1 if there is none. */
static inline int word_value(const char *word, const char *(*name)(unsigned int), int end)
{
	if (strcmp(word, "none") == 0 || strcmp(word, "unknown") == 0)
		return -1; /* the name of values without a name */
	for (int i = 0; i < end; i++) {
		if (strcmp(name((unsigned int)i), word) == 0)
			return i;
	}
	return -1;
}

static inline int event_kind_parse(const char *word)
{
	return word_value(word, event_kind_name, EV_KIND_MAX);
}

static inline int stage_parse(const char *word)
{
	return word_value(word, stage_name, STAGE_MAX);
}

static inline int origin_parse(const char *word)
{
	return word_value(word, origin_name, ORIGIN_MAX);
}

static inline int protocol_parse(const char *word)
{
	return word_value(word, protocol_name, PROTO_MAX);
}

static inline int dist_parse(const char *word)
{
	return word_value(word, dist_name, DIST_MAX);
}

static inline int group_key_parse(const char *word)
{
	return word_value(word, group_key_name, GROUP_KEY_MAX);
}

#endif
