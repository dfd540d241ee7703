/* SPDX-License-Identifier: Apache-2.0 */
#include "load/runs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/csv_field.h"
#include "load/setup.h"
#include "load/protocol.h"

static void runs_put_u64(struct strbuf *out, bool known, uint64_t n)
{
	if (known)
		strbuf_printf(out, "%" PRIu64, n);
	strbuf_putc(out, ',');
}

static void runs_put_number(struct strbuf *out, double x)
{
	if (isfinite(x))
		strbuf_printf(out, "%.6g", x);
	strbuf_putc(out, ',');
}

static void runs_put_row(struct strbuf *out, const struct load_summary *s, double q)
{
	struct strbuf url = STRBUF_INIT(LOAD_SETUP_TEXT_MAX);

	runs_put_u64(out, true, s->run);
	if (s->url)
		target_put_shown(s->url, &url);
	csv_field_put(out, strbuf_str(&url));
	strbuf_putc(out, ',');
	strbuf_release(&url);
	runs_put_number(out, s->rate);
	runs_put_number(out, s->achieved);
	strbuf_printf(out, "%" PRIu64 ",%.6g,", s->count, q);
	runs_put_u64(out, s->asked.known, s->asked.ns);
	runs_put_u64(out, s->asked.bounded, s->asked.lo_ns);
	runs_put_u64(out, s->asked.upper, s->asked.hi_ns);
	for (int i = 0; i < REPORT_QUANTILES; i++)
		runs_put_u64(out, s->quantiles[i].known, s->quantiles[i].ns);
	strbuf_printf(out, "%" PRIu64 ",", s->misses.completed);
	runs_put_u64(out, s->misses_known, s->misses.misses);
	strbuf_printf(out, "%s,%s\n", load_summary_verdict(s), s->reasons);
}

void load_runs_csv(const struct load_runs *runs, double q, struct strbuf *out)
{
	strbuf_puts(out, "run,target,rate,achieved,count,q,ns,lo_ns,hi_ns,p50_ns,p90_ns,p99_ns,"
			 "p999_ns,completed,misses,verdict,reasons\n");
	vec_for_each(runs, s)
		runs_put_row(out, s, q);
}
