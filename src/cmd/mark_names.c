/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mark_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Splits at the last two colons: a path may contain colons, provider and name are C identifiers. */
bool mark_parse(const char *text, char *buf, struct pkt_mark *mark)
{
	const size_t n = strlen(text);
	char *provider, *name;

	if (n >= MARK_TEXT)
		return false;
	memcpy(buf, text, n + 1);
	name = strrchr(buf, ':');
	if (!name)
		return false;
	*name++ = '\0';
	provider = strrchr(buf, ':');
	mark->path = provider ? buf : NULL;
	if (provider)
		*provider++ = '\0';
	else
		provider = buf;
	mark->provider = provider;
	mark->name = name;
	return *name && *provider && (!mark->path || *mark->path);
}

const char *mark_path(const char *path, uint64_t pid, char *buf)
{
	if (!path || !pid || *path != '/' || !strncmp(path, "/proc/", strlen("/proc/")))
		return path;
	snprintf(buf, MARK_PATH, "/proc/%" PRIu64 "/root%s", pid, path);
	return buf;
}
