/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_time.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

#define ZONE_HOURS_MAX 14u

static const char *const fleet_time_formats[] = {
	"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
	"%Y-%m-%d",
};

static bool fleet_time_two_digits(const char **text, unsigned int max, unsigned int *out)
{
	const char *at = *text;

	if (strspn(at, "0123456789") < 2)
		return false;
	*out = (unsigned int)(at[0] - '0') * 10 + (unsigned int)(at[1] - '0');
	*text = at + 2;
	return *out <= max;
}

/* Parses "Z", "+02:00", "+0200" or "+02", with or without a blank before. */
static bool fleet_time_zone(const char *text, int64_t *ahead_s)
{
	unsigned int hours, minutes = 0;
	bool behind;

	text += *text == ' ';
	behind = *text == '-';
	*ahead_s = 0;
	if (!strcmp(text, "Z"))
		return true;
	if (*text != '+' && !behind)
		return false;
	text++;
	if (!fleet_time_two_digits(&text, ZONE_HOURS_MAX, &hours))
		return false;
	text += *text == ':' && text[1];
	if (*text && !fleet_time_two_digits(&text, 59, &minutes))
		return false;
	*ahead_s = (int64_t)(hours * 3600 + minutes * 60) * (behind ? -1 : 1);
	return !*text;
}

/* Sets the time of a date; `zone` is what follows it: "" is local time. */
static int fleet_time_of_date(struct tm *tm, const char *zone, uint64_t *out)
{
	const int month = tm->tm_mon, day = tm->tm_mday;
	int64_t ahead_s = 0, seconds;

	if (*zone && !fleet_time_zone(zone, &ahead_s))
		return -EINVAL;
	seconds = (*zone ? timegm(tm) : mktime(tm)) - ahead_s;
	if (tm->tm_mon != month || tm->tm_mday != day) /* no such day */
		return -EINVAL;
	if (seconds < 0 || (uint64_t)seconds > INT64_MAX / NS_PER_S)
		return -EINVAL;
	*out = (uint64_t)seconds * NS_PER_S;
	return 0;
}

static bool fleet_time_word(const char *text, uint64_t now_ns, uint64_t *out)
{
	const uint64_t today_ns = now_ns - now_ns % NS_PER_DAY;

	if (!strcmp(text, "now"))
		*out = now_ns;
	else if (!strcmp(text, "today"))
		*out = today_ns;
	else if (!strcmp(text, "yesterday"))
		*out = today_ns - NS_PER_DAY;
	else
		return false;
	return true;
}

int fleet_time_parse(const char *text, uint64_t now_ns, uint64_t end_ns, uint64_t *out)
{
	uint64_t before;
	int err = -EINVAL;

	if (!parse_duration(text, &before)) {
		*out = before < end_ns ? end_ns - before : 0;
		return 0;
	}
	if (fleet_time_word(text, now_ns, out))
		return 0;
	for (unsigned int i = 0; i < sizeof(fleet_time_formats) / sizeof(char *) && err; i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *zone = strptime(text, fleet_time_formats[i], &tm);

		err = zone ? fleet_time_of_date(&tm, zone, out) : -EINVAL;
	}
	return err;
}

uint64_t fleet_time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S;
}
