/* SPDX-License-Identifier: Apache-2.0 */
#include "load/condition.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define PERCENT_TEXT_MAX 32
#define CONDITION_TEXT_MAX 128

/* Parses "p99<" into out->q. Returns the text after it; NULL, and *err is set. */
static const char *condition_begin(const char *text, struct load_condition *out, int *err)
{
	const char *less = strchr(text, '<');
	char percent[PERCENT_TEXT_MAX];
	size_t len;

	*err = -EINVAL;
	if (*text != 'p' || !less)
		return NULL;
	len = (size_t)(less - text) - 1;
	if (len >= sizeof(percent))
		return NULL;
	memcpy(percent, text + 1, len);
	percent[len] = '\0';
	*err = parse_percent(percent, &out->q);
	return *err ? NULL : less + 1;
}

int load_condition_parse(const char *text, struct load_condition *out)
{
	struct load_condition c = { .text = text };
	char dense[CONDITION_TEXT_MAX];
	const char *limit = NULL;
	int err = parse_drop_blanks(text, dense, sizeof(dense));

	if (!err)
		limit = condition_begin(dense, &c, &err);
	if (!limit)
		return err;
	err = parse_duration(limit, &c.limit_ns);
	if (!err && !c.limit_ns)
		err = -ERANGE;
	if (!err)
		*out = c;
	return err;
}

int load_condition_parse_change(const char *text, struct load_condition *out)
{
	struct load_condition c = { .text = text };
	char dense[CONDITION_TEXT_MAX];
	const char *limit = NULL;
	double change;
	int err = parse_drop_blanks(text, dense, sizeof(dense));

	if (!err)
		limit = condition_begin(dense, &c, &err);
	if (!limit)
		return err;
	if ((*limit != '+' && *limit != '-') || limit[strlen(limit) - 1] != '%')
		return -EINVAL;
	err = parse_fraction(limit + 1, &change);
	c.limit_ratio = *limit == '+' ? 1 + change : 1 - change;
	if (!err && !(c.limit_ratio > 0))
		err = -ERANGE;
	if (!err)
		*out = c;
	return err;
}

enum load_truth load_condition_judge(const struct load_condition *condition,
				     const struct load_quantile *quantile,
				     struct load_drift drift)
{
	const double limit = (double)condition->limit_ns;

	if (quantile->upper && drift.rose <= 1 && (double)quantile->hi_ns * drift.fell < limit)
		return LOAD_HOLDS;
	return quantile->bounded && (double)quantile->lo_ns / drift.fell >= limit ? LOAD_FAILS :
										    LOAD_OPEN;
}
