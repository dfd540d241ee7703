/* SPDX-License-Identifier: Apache-2.0 */
#include "load/statuses.h"

#include <errno.h>
#include <string.h>

#include "load/text.h"

/* Adds a status ("404") or a class of statuses ("4xx"), three characters at `at`. */
static int statuses_add_one(const char *at, struct statuses *out)
{
	unsigned int from, n = 1;

	if (at[0] < '2' || at[0] > '5')
		return -EINVAL;
	from = (unsigned int)(at[0] - '0') * 100;
	if (at[1] == 'x' && at[2] == 'x')
		n = 100;
	else if (parse_is_digit(at[1]) && parse_is_digit(at[2]))
		from += (unsigned int)(at[1] - '0') * 10 + (unsigned int)(at[2] - '0');
	else
		return -EINVAL;
	for (unsigned int i = from; i < from + n; i++)
		out->bits[i / 64] |= 1ULL << (i % 64);
	return 0;
}

int statuses_parse(const char *text, struct statuses *out, struct strbuf *why)
{
	*out = (struct statuses){ .given = text != NULL };
	for (const char *at = text; at; at += 4) {
		if (strnlen(at, 3) < 3 || statuses_add_one(at, out) || (at[3] && at[3] != ',')) {
			strbuf_printf(why, "--expect takes " STATUSES_TAKES ", not '%s'", text);
			return -EINVAL;
		}
		if (!at[3])
			break;
	}
	return 0;
}
