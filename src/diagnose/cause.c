/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/cause.h"

#define CAUSE_ROW(id, name, kind, phrase) [CAUSE_##id] = { name, kind, phrase },

static const struct {
	const char *name, *kind, *phrase;
} causes[CAUSE_MAX] = { CAUSES(CAUSE_ROW) };

static const char *const wheres[WHERE_MAX] = {
	[WHERE_APPLICATION] = "application",
	[WHERE_RECEIVE] = "receive",
	[WHERE_TRANSMIT] = "transmit",
	[WHERE_CLIENT] = "client",
	[WHERE_NETWORK] = "network",
};

const char *cause_name(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].name : "unknown";
}

const char *cause_where_name(unsigned int where)
{
	return where < WHERE_MAX ? wheres[where] : "unknown";
}

const char *cause_kind(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].kind : "unknown";
}

const char *cause_phrase(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].phrase : "unknown";
}
