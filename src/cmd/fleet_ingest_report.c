/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_ingest_report.h"

#include <inttypes.h>

#include "base/bug.h"
#include "base/parse.h"
#include "cmd/result.h"
#include "report/human.h"

#define INGEST_SCHEMA 1

static void ingest_report_files(const struct ingest_file *files, uint32_t n, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "file", .head = "file", .flags = COLUMN_FLEX },
		{ .name = "host", .head = "host" },
		{ .name = "from_ns" }, { .name = "to_ns" },
		{ .name = "windows", .head = "windows" }, { .name = "stored", .head = "stored" },
		{ .name = "connections", .head = "connections" },
		{ .name = "bytes", .head = "bytes" },
		{ .name = "bytes_per_day", .head = "bytes a day" },
		{ .name = "error" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (uint32_t i = 0; i < n; i++) {
		const struct ingest_file *f = &files[i];

		TABLE_ADD(t, value_string(f->path), value_string(*f->host ? f->host : NULL),
			  value_known_ns(f->to_ns, f->from_ns), value_known_ns(f->to_ns, f->to_ns),
			  value_u64(f->windows), value_u64(f->stored), value_u64(f->rows),
			  value_u64(f->bytes),
			  f->time_ns ? value_u64((uint64_t)((double)f->bytes * NS_PER_DAY /
							    (double)f->time_ns)) :
				       value_null(),
			  value_bool(f->code != EXIT_OK));
	}
	object_add(&r->body, "files", value_table(t));
}

int ingest_report(const struct common_options *common, const struct ingest_file *files, uint32_t n)
{
	uint64_t failed = 0, stored = 0, windows = 0, damaged = 0, renamed = 0, keep = 0;
	char buf[HUMAN_MAX];
	struct report r;
	int code;

	for (uint32_t i = 0; i < n; i++) {
		failed += files[i].code != EXIT_OK;
		stored += files[i].stored;
		windows += files[i].windows;
		damaged += files[i].damaged;
		renamed += files[i].code == EXIT_OK ? files[i].renamed : 0;
		keep += files[i].keeps_names;
	}
	result_begin(&r, "fleet ingest", INGEST_SCHEMA);
	report_headline(&r, "%s stored, %" PRIu64 " of %" PRIu64 " were in the store already.",
			human_counted(buf, stored, "window"), windows - stored, windows);
	report_place_verdict(&r);
	ingest_report_files(files, n, &r);
	report_place_findings(&r);
	if (renamed)
		report_finding(&r, "%s stored anew, because --apps gives other names than before.",
			       human_were(buf, renamed, "window"));
	if (keep)
		report_finding(&r, "The names of %s in the store are those of an earlier --apps, "
			       "and new windows get none: give --apps each time.",
			       human_counted(buf, keep, "recording"));
	if (damaged)
		report_finding(&r, "%s damaged: what is readable is stored.",
			       human_counted(buf, damaged, "recording"));
	if (failed)
		report_reason(&r, "files-failed", NULL, "%" PRIu64 " of %u recordings could not be "
			      "stored: see the messages, and ingest them again", failed, n);
	code = result_print(&r, common);
	report_release(&r);
	return code;
}
