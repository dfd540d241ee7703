/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_time.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

static const char *const fleet_time_formats[] = {
	"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
	"%Y-%m-%d",
};

int fleet_time_parse(const char *text, uint64_t end_ns, uint64_t *out)
{
	uint64_t before;

	if (!parse_duration(text, &before)) {
		*out = before < end_ns ? end_ns - before : 0;
		return 0;
	}
	for (unsigned int i = 0; i < sizeof(fleet_time_formats) / sizeof(char *); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *rest = strptime(text, fleet_time_formats[i], &tm);
		const int month = tm.tm_mon, day = tm.tm_mday;
		const bool utc = rest && !strcmp(rest, "Z");
		time_t seconds;

		if (!rest || (*rest && !utc))
			continue;
		seconds = utc ? timegm(&tm) : mktime(&tm);
		if (tm.tm_mon != month || tm.tm_mday != day) /* no such day */
			return -EINVAL;
		if (seconds < 0 || (uint64_t)seconds > INT64_MAX / NS_PER_S)
			return -EINVAL;
		*out = (uint64_t)seconds * NS_PER_S;
		return 0;
	}
	return -EINVAL;
}
