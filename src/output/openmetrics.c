/* SPDX-License-Identifier: Apache-2.0 */
#include "output/openmetrics.h"

#include <inttypes.h>

#include "base/parse.h"
#include "base/utf8.h"

/* Appends a text in quotes; bytes that are not UTF-8 become U+FFFD, as a scraper refuses them. */
static void openmetrics_put_quoted(struct strbuf *out, const char *text)
{
	size_t len;

	strbuf_putc(out, '"');
	for (; *text; text += len) {
		const uint32_t code = utf8_next(text, &len);

		if (code == '\n')
			strbuf_puts(out, "\\n");
		else if (code == '"' || code == '\\')
			strbuf_printf(out, "\\%c", (char)code);
		else if (code == 0xfffd)
			strbuf_puts(out, "\xef\xbf\xbd");
		else
			strbuf_add(out, text, len);
	}
	strbuf_putc(out, '"');
}

static void openmetrics_put_head(const struct metric_family *family, enum openmetrics_form form,
				 struct strbuf *out)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_INFO] = "info",
	};
	const bool old = form == OPENMETRICS_PROMETHEUS;
	const char *suffix = old ? metric_suffix(family) : "";
	const char *type = old && family->type == METRIC_INFO ? "gauge" : types[family->type];

	strbuf_printf(out, "# TYPE %s%s %s\n", family->name, suffix, type);
	if (!old && family->unit == METRIC_IN_SECONDS)
		strbuf_printf(out, "# UNIT %s seconds\n", family->name);
	strbuf_printf(out, "# HELP %s%s %s.\n", family->name, suffix, family->help);
}

static void openmetrics_put_sample(const struct metric_sample *sample, struct strbuf *out)
{
	const struct metric_family *family = sample->family;
	const char *before = "{";

	strbuf_printf(out, "%s%s", family->name, metric_suffix(family));
	for (int i = 0; i < METRIC_LABELS_MAX && family->labels[i]; i++) {
		if (!sample->labels[i] || !*sample->labels[i])
			continue;
		strbuf_printf(out, "%s%s=", before, family->labels[i]);
		openmetrics_put_quoted(out, sample->labels[i]);
		before = ",";
	}
	strbuf_puts(out, *before == ',' ? "}" : "");
	if (family->unit == METRIC_IN_SECONDS)
		strbuf_printf(out, " %llu.%09llu\n", sample->value / NS_PER_S,
			      sample->value % NS_PER_S);
	else
		strbuf_printf(out, " %" PRIu64 "\n", sample->value);
}

void openmetrics_put(const struct metrics *m, enum openmetrics_form form, struct strbuf *out)
{
	const struct metric_family *family = NULL;

	vec_for_each(&m->samples, sample) {
		if (sample->family != family)
			openmetrics_put_head(sample->family, form, out);
		family = sample->family;
		openmetrics_put_sample(sample, out);
	}
	if (form == OPENMETRICS_1_0)
		strbuf_puts(out, "# EOF\n");
}
