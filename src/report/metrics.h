/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of a monitoring system: families of samples with labels. Data only; the text forms are
 * those of output/openmetrics.h.
 */
#ifndef HOSTLAT_REPORT_METRICS_H
#define HOSTLAT_REPORT_METRICS_H

#include <stdint.h>

#include "base/vec.h"

#define METRIC_LABELS_MAX 3
/* Most samples of a page of metrics. */
#define METRICS_MAX 100000u

/* An information metric's value is 1: its labels are what it tells. */
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };
enum metric_unit { METRIC_IN_COUNT, METRIC_IN_SECONDS };

struct metric_family {
	const char *name;        /* without the suffix of the type: _total, _info */
	enum metric_type type;
	enum metric_unit unit;
	const char *help;        /* noun phrase for the value, without a full stop */
	const char *labels[METRIC_LABELS_MAX]; /* names, the first unused one NULL */
};

struct metric_sample {
	const struct metric_family *family;
	const char *labels[METRIC_LABELS_MAX]; /* values; borrowed; NULL: the label is left out */
	uint64_t value;          /* ns if the family is in seconds */
};

/* Samples of a family follow each other; no two of them have the same labels. */
struct metrics {
	struct metric_samples VEC_OF(struct metric_sample) samples;
	int error;               /* 0, -ENOMEM or -E2BIG: further samples are ignored */
};

/* Initializes without allocating. */
void metrics_init(struct metrics *m);
void metrics_release(struct metrics *m);

/* Adds a sample, or its value to the sample that has the same labels. */
void metrics_add(struct metrics *m, const struct metric_sample *sample);

/* Returns the suffix of the samples' names. */
const char *metric_suffix(const struct metric_family *family);

#endif
