/* SPDX-License-Identifier: Apache-2.0 */
#include "load/condition.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define PERCENT_TEXT_MAX 32

int load_condition_parse(const char *text, struct load_condition *out)
{
	struct load_condition c = { .text = text };
	const char *less = strchr(text, '<');
	char percent[PERCENT_TEXT_MAX];
	size_t len;
	int err;

	if (*text != 'p' || !less)
		return -EINVAL;
	len = (size_t)(less - text) - 1;
	if (len >= sizeof(percent))
		return -EINVAL;
	memcpy(percent, text + 1, len);
	percent[len] = '\0';
	err = parse_percent(percent, &c.q);
	if (!err)
		err = parse_duration(less + 1, &c.limit_ns);
	if (!err && !c.limit_ns)
		err = -ERANGE;
	if (!err)
		*out = c;
	return err;
}

enum load_truth load_condition_judge(const struct load_condition *condition,
				     const struct load_quantile *quantile)
{
	if (quantile->upper && quantile->hi_ns < condition->limit_ns)
		return LOAD_HOLDS;
	return quantile->bounded && quantile->lo_ns >= condition->limit_ns ? LOAD_FAILS : LOAD_OPEN;
}
