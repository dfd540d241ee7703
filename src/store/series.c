/* SPDX-License-Identifier: Apache-2.0 */
#include "store/series.h"

#include <errno.h>
#include <string.h>

/* ---- writing ---- */

void series_write(struct strbuf *out, const uint8_t *cells, uint32_t n)
{
	const char *blank = "";

	while (n && cells[n - 1] == SERIES_UNKNOWN)
		n--;
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && cells[end] == cells[i]; end++)
			;
		strbuf_puts(out, blank);
		blank = " ";
		if (cells[i] == SERIES_UNKNOWN)
			strbuf_putc(out, '?');
		else
			strbuf_printf(out, "%u", cells[i]);
		if (end - i > 1)
			strbuf_printf(out, "*%u", end - i);
	}
}

/* ---- reading ---- */

/* Reads digits without a leading zero, at most `most`. Returns false if there are none such. */
static bool series_number(const char **text, uint32_t most, uint32_t *out)
{
	const char *digit = *text;
	uint64_t sum = 0;

	for (; *digit >= '0' && *digit <= '9' && sum <= most; digit++)
		sum = 10 * sum + (uint64_t)(*digit - '0');
	if (digit == *text || sum > most || (**text == '0' && digit - *text > 1))
		return false;
	*text = digit;
	*out = (uint32_t)sum;
	return true;
}

/* Reads a share and how often it comes. Returns false if there is none, or more than `most`. */
static bool series_run(const char **text, uint32_t most, uint32_t *share, uint32_t *times)
{
	*times = 1;
	if (**text == '?') {
		*share = SERIES_UNKNOWN;
		++*text;
	} else if (!series_number(text, SERIES_STEPS, share)) {
		return false;
	}
	if (**text != '*')
		return most > 0;
	++*text;
	return series_number(text, most, times) && *times > 0;
}

int series_read(const char *text, uint8_t *cells, uint32_t n)
{
	uint32_t at = 0, share, times;

	memset(cells, SERIES_UNKNOWN, n);
	while (*text) {
		if (!series_run(&text, n - at, &share, &times))
			return -EINVAL;
		memset(cells + at, (int)share, times);
		at += times;
		if (*text == ' ' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	return 0;
}
