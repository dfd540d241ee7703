/* SPDX-License-Identifier: Apache-2.0 */
#include "report/metrics.h"

#include <stdbool.h>
#include <string.h>

void metrics_init(struct metrics *m)
{
	m->error = 0;
	vec_init(&m->samples, METRICS_MAX);
}

void metrics_release(struct metrics *m)
{
	vec_release(&m->samples);
}

static bool metrics_is_same(const struct metric_sample *a, const struct metric_sample *b)
{
	for (int i = 0; i < METRIC_LABELS_MAX && a->family->labels[i]; i++)
		if (strcmp(a->labels[i] ?: "", b->labels[i] ?: "") != 0)
			return false;
	return true;
}

void metrics_add(struct metrics *m, const struct metric_sample *sample)
{
	for (size_t i = m->samples.len; i && m->samples.items[i - 1].family == sample->family; i--)
		if (metrics_is_same(&m->samples.items[i - 1], sample)) {
			m->samples.items[i - 1].value += sample->value;
			return;
		}
	if (!m->error)
		m->error = vec_push(&m->samples, *sample);
}

const char *metric_suffix(const struct metric_family *family)
{
	static const char *const suffixes[] = {
		[METRIC_COUNTER] = "_total", [METRIC_GAUGE] = "", [METRIC_INFO] = "_info",
	};

	return suffixes[family->type];
}
