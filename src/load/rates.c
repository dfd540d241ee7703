/* SPDX-License-Identifier: Apache-2.0 */
#include "load/rates.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define RATES_TEXT_MAX 96

/* Tolerance for rounding errors when the steps reach the end of the range. */
#define STEP_SLACK 1e-9

static int load_rates_count(double from, double to, double step, uint32_t *n)
{
	double steps = (to - from) / step;

	if (to < from || steps >= LOAD_RATES_MAX)
		return -ERANGE;
	*n = (uint32_t)(steps + STEP_SLACK) + 1;
	return *n > LOAD_RATES_MAX ? -ERANGE : 0;
}

int load_rates_parse(const char *text, struct load_rates *out)
{
	char copy[RATES_TEXT_MAX], *rest = copy;
	double parts[3];
	uint32_t n;
	int err = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	for (int i = 0; !err && i < 3; i++) {
		const char *part = strsep(&rest, ":");

		err = part ? parse_rate(part, &parts[i]) : -EINVAL;
	}
	if (!err && rest)
		err = -EINVAL;
	if (!err)
		err = load_rates_count(parts[0], parts[1], parts[2], &n);
	if (!err)
		*out = (struct load_rates){ .from = parts[0], .step = parts[2], .n = n };
	return err;
}
