/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/pages.h"

#include <string.h>

#include "base/bug.h"

/* The pages of section 7, without "hostlat-". */
static const char *const topics[] = {
	"causes", "fleet-watch", "http", "json", "metrics", "redis", "replay", "requests",
	"stages", "store",
};

static const char *pages_after(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) ? name : name + strlen(prefix);
}

static bool pages_is_command(const struct command *const *table, const char *name)
{
	while (*table && ((*table)->hidden || strcmp((*table)->name, name) != 0))
		table++;
	return *table;
}

bool pages_put(const struct command *const *table, const char *name, struct strbuf *out)
{
	bool found;

	if (!strcmp(name, "hostlat")) {
		strbuf_puts(out, "man hostlat");
		return true;
	}
	name = pages_after(name, "hostlat-");
	found = pages_is_command(table, name);
	for (unsigned int i = 0; i < ARRAY_LEN(topics); i++)
		found |= !strcmp(topics[i], name);
	if (found)
		strbuf_printf(out, "man hostlat-%s", name);
	return found;
}
