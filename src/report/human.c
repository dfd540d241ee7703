/* SPDX-License-Identifier: Apache-2.0 */
#include "report/human.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

static const struct {
	const char *name;
	uint64_t ns;
} units[] = { { "µs", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

#define NUNITS (sizeof(units) / sizeof(units[0]))

const char *human_ns(char *buf, uint64_t ns)
{
	char number[HUMAN_MAX];
	size_t i = 0;
	double n;

	if (ns < 1000) {
		snprintf(buf, HUMAN_MAX, "%" PRIu64 " ns", ns);
		return buf;
	}
	/* Not "1000 µs": a time that rounds up to the next unit is shown in that unit. */
	while (i + 1 < NUNITS && (double)ns >= 999.5 * (double)units[i].ns)
		i++;
	n = (double)ns / (double)units[i].ns;
	if (n < 9.95)
		snprintf(buf, HUMAN_MAX, "%.1f %s", n, units[i].name);
	else
		snprintf(buf, HUMAN_MAX, "%.30s %s",
			 human_count(number, (uint64_t)(n + 0.5)), units[i].name);
	return buf;
}

const char *human_sns(char *buf, int64_t ns)
{
	char number[HUMAN_MAX];

	if (ns >= 0)
		return human_ns(buf, (uint64_t)ns);
	snprintf(buf, HUMAN_MAX, "-%.38s", human_ns(number, -(uint64_t)ns));
	return buf;
}

const char *human_count(char *buf, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *out = buf;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ' ';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *human_counted(char *buf, uint64_t n, const char *noun)
{
	size_t len = strlen(human_count(buf, n));

	snprintf(buf + len, HUMAN_MAX - len, " %s%s", noun, n == 1 ? "" : "s");
	return buf;
}

const char *human_were(char *buf, uint64_t n, const char *noun)
{
	size_t len = strlen(human_counted(buf, n, noun));

	snprintf(buf + len, HUMAN_MAX - len, n == 1 ? " was" : " were");
	return buf;
}

const char *human_rate(char *buf, double rate)
{
	if (rate >= 9.95)
		return human_count(buf, (uint64_t)llround(rate));
	snprintf(buf, HUMAN_MAX, "%.2g", rate);
	return buf;
}

const char *human_fraction(char *buf, double fraction)
{
	double percent = fraction * 100;

	if (percent > 0 && percent < 0.05)
		snprintf(buf, HUMAN_MAX, "<0.1 %%");
	else if (percent < 0 && percent > -0.05)
		snprintf(buf, HUMAN_MAX, ">-0.1 %%");
	else if (percent != 0 && percent > -0.95 && percent < 0.95)
		snprintf(buf, HUMAN_MAX, "%.1f %%", percent);
	else
		snprintf(buf, HUMAN_MAX, "%.0f %%", percent);
	return buf;
}

const char *human_utc(char *buf, uint64_t realtime_ns, unsigned int digits, bool date)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	char fraction[16];
	struct tm tm = { 0 };
	size_t len;

	gmtime_r(&seconds, &tm); /* never fails: 64 bits of ns reach only valid years */
	len = strftime(buf, HUMAN_MAX, date ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S", &tm);
	snprintf(fraction, sizeof(fraction), ".%09u", (unsigned int)(realtime_ns % NS_PER_S));
	fraction[digits ? digits + 1 : 0] = '\0';
	snprintf(buf + len, HUMAN_MAX - len, "%sZ", fraction);
	return buf;
}

const char *human_address(char *buf, int family, const void *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(family, address, text, sizeof(text)))
		return NULL;
	snprintf(buf, HUMAN_ADDRESS_MAX, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	return buf;
}
