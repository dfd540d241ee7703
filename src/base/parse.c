/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses numbers, units and addresses as people type them. strtoul() and its family accept blanks,
 * signs and trailing garbage; these functions read digits as integers and check overflow.
 */
#include "base/parse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bug.h"

/* With more digits after the point, a value is too fine for any unit. */
#define POINT_DIGITS_MAX 18

struct parse_unit {
	const char *name;
	uint64_t factor;
};

/* Units by ascending factor. Of several names with the same factor, output uses the first. */
static const struct parse_unit duration_units[] = {
	{ "ns", 1 },
	{ "us", NS_PER_US },
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_S },
	{ "m", 60 * NS_PER_S },
	{ "min", 60 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "d", NS_PER_DAY },
};

static const struct parse_unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", 1ULL << 10 },
	{ "KiB", 1ULL << 10 },
	{ "M", 1ULL << 20 },
	{ "MiB", 1ULL << 20 },
	{ "G", 1ULL << 30 },
	{ "GiB", 1ULL << 30 },
	{ "T", 1ULL << 40 },
	{ "TiB", 1ULL << 40 },
};

/* A decimal number: whole + point / scale, with point < scale = 10^digits. */
struct decimal {
	uint64_t whole, point, scale;
};

/* Reads digits at *text and moves *text past them. Returns 0, -EINVAL or -ERANGE. */
static int parse_scan_digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t value = 0;

	if (!parse_is_digit(*p))
		return -EINVAL;
	for (; parse_is_digit(*p); p++) {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*text = p;
	*out = value;
	return 0;
}

static int parse_scan_decimal(const char **text, struct decimal *out)
{
	struct decimal d = { .scale = 1 };
	const char *digits;
	int err;

	err = parse_scan_digits(text, &d.whole);
	if (err || **text != '.')
		goto out;
	digits = ++*text;
	err = parse_scan_digits(text, &d.point);
	if (err)
		goto out;
	if (*text - digits > POINT_DIGITS_MAX)
		return -ERANGE;
	for (; digits < *text; digits++)
		d.scale *= 10;
out:
	if (!err)
		*out = d;
	return err;
}

static int decimal_times(const struct decimal *d, uint64_t factor, uint64_t *out)
{
	unsigned __int128 fine = (unsigned __int128)d->point * factor;
	uint64_t value;

	if (fine % d->scale)
		return -ERANGE;
	if (__builtin_mul_overflow(d->whole, factor, &value) ||
	    __builtin_add_overflow(value, (uint64_t)(fine / d->scale), &value))
		return -ERANGE;
	*out = value;
	return 0;
}

static int parse_with_unit(const char *text, const struct parse_unit *units, size_t n,
			   uint64_t *out)
{
	struct decimal number;
	int err;

	err = parse_scan_decimal(&text, &number);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(text, units[i].name) == 0)
			return decimal_times(&number, units[i].factor, out);
	}
	return -EINVAL;
}

/* Returns whether both are digits or both are letters: without a blank they would be one word. */
static bool parse_would_join(char before, char after)
{
	return (isdigit((unsigned char)before) && isdigit((unsigned char)after)) ||
	       (isalpha((unsigned char)before) && isalpha((unsigned char)after));
}

int parse_drop_blanks(const char *text, char *out, size_t size)
{
	size_t len = 0;

	for (; *text; text++) {
		const char next = text[strspn(text, " ")];

		if (*text == ' ' && !(len && parse_would_join(out[len - 1], next)))
			continue;
		if (len + 1 >= size)
			return -ERANGE;
		out[len++] = *text;
	}
	out[len] = '\0';
	return 0;
}

int parse_u64(const char *text, uint64_t *out)
{
	uint64_t value;
	int err;

	err = parse_scan_digits(&text, &value);
	if (!err && *text)
		err = -EINVAL;
	if (!err)
		*out = value;
	return err;
}

int parse_duration(const char *text, uint64_t *ns)
{
	return parse_with_unit(text, duration_units, ARRAY_LEN(duration_units), ns);
}

int parse_size(const char *text, uint64_t *bytes)
{
	return parse_with_unit(text, size_units, ARRAY_LEN(size_units), bytes);
}

/* Divides two exact integers (below 2^53) once, so that the result is the nearest double. */
static int decimal_over(const struct decimal *d, uint64_t divisor, double *out)
{
	if (d->whole > divisor || (d->whole == divisor && d->point))
		return -ERANGE;
	*out = ((double)d->whole * (double)d->scale + (double)d->point) /
	       ((double)d->scale * (double)divisor);
	return 0;
}

int parse_fraction(const char *text, double *out)
{
	struct decimal number;
	uint64_t divisor = 1;
	int err;

	err = parse_scan_decimal(&text, &number);
	if (err)
		return err;
	if (*text == '%') {
		divisor = 100;
		text++;
	} else if (*text == '/' && number.scale == 1) {
		text++;
		err = parse_scan_digits(&text, &divisor);
	}
	if (err || *text || !divisor)
		return err ? err : -EINVAL;
	return decimal_over(&number, divisor, out);
}

int parse_rate(const char *text, double *out)
{
	struct decimal number;
	double factor = 1;
	int err;

	err = parse_scan_decimal(&text, &number);
	if (err)
		return err;
	if (*text == 'k' || *text == 'M')
		factor = *text++ == 'k' ? 1e3 : 1e6;
	if (*text)
		return -EINVAL;
	if (!number.whole && !number.point)
		return -ERANGE;
	*out = ((double)number.whole * (double)number.scale + (double)number.point) * factor /
	       (double)number.scale;
	return 0;
}

int parse_percent(const char *text, double *out)
{
	struct decimal number;
	double value;
	int err;

	err = parse_scan_decimal(&text, &number);
	if (err)
		return err;
	if (*text == '%')
		text++;
	if (*text)
		return -EINVAL;
	if ((!number.whole && !number.point) || number.whole >= 100)
		return -ERANGE;
	err = decimal_over(&number, 100, &value);
	if (!err && value >= 1) /* e.g. 99.99999999999999999, rounded to 100 % */
		err = -ERANGE;
	if (!err)
		*out = value;
	return err;
}

int parse_one_in(const char *text, uint64_t *out)
{
	uint64_t n;
	int err;

	if (strncmp(text, "1/", 2))
		return -EINVAL;
	err = parse_u64(text + 2, &n);
	if (!err && (!n || n > 65536))
		err = -ERANGE;
	if (!err)
		*out = n;
	return err;
}

/* Splits at the last colon; brackets separate the colons of an IPv6 address from the port. */
static int parse_split_endpoint(const char *text, char *host, size_t host_size, uint16_t *port)
{
	const char *end = strrchr(text, ':');
	uint64_t number;
	size_t len;
	int err;

	if (!end)
		return -EINVAL;
	err = parse_u64(end + 1, &number);
	if (err || number > UINT16_MAX)
		return err ? err : -ERANGE;
	len = (size_t)(end - text);
	if (len >= host_size)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = (uint16_t)number;
	return 0;
}

int parse_endpoint(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	char host[INET6_ADDRSTRLEN + 2];
	uint16_t port;
	size_t len;
	int err;

	err = parse_split_endpoint(text, host, sizeof(host), &port);
	if (err)
		return err;
	v4.sin_port = v6.sin6_port = htons(port);
	len = strlen(host);
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &v6.sin6_addr) != 1)
			return -EINVAL;
		memset(out, 0, sizeof(*out));
		memcpy(out, &v6, sizeof(v6));
		return 0;
	}
	if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	memcpy(out, &v4, sizeof(v4));
	return 0;
}

static void format_with_unit(struct strbuf *sb, uint64_t value, const struct parse_unit *units,
			     size_t n)
{
	const struct parse_unit *best = &units[0];

	for (size_t i = 1; i < n; i++) {
		if (value && value % units[i].factor == 0 && units[i].factor > best->factor)
			best = &units[i];
	}
	strbuf_printf(sb, "%" PRIu64 "%s", value / best->factor, best->name);
}

void format_duration(struct strbuf *sb, uint64_t ns)
{
	format_with_unit(sb, ns, duration_units, ARRAY_LEN(duration_units));
}

void format_size(struct strbuf *sb, uint64_t bytes)
{
	format_with_unit(sb, bytes, size_units, ARRAY_LEN(size_units));
}
