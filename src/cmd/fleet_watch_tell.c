/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_watch_tell.h"

#include <errno.h>
#include <math.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cmd/result.h"
#include "fleet/sentence.h"
#include "output/json.h"
#include "report/human.h"

static int fleet_watch_failed(const struct fleet_watch_output *out, int err)
{
	if (!err)
		return EXIT_OK;
	log_error("cannot write the result to %s: %s",
		  out->common->output ? out->common->output : "standard output",
		  folder_strerror(err));
	return EXIT_CANNOT;
}

int fleet_watch_open(struct fleet_watch_output *out, const struct common_options *common)
{
	int err;

	*out = (struct fleet_watch_output){ .common = common };
	err = outfile_open(&out->file, common->output);
	return fleet_watch_failed(out, err ? err : outfile_publish(&out->file));
}

int fleet_watch_close(struct fleet_watch_output *out)
{
	int err = out->reader_gone ? 0 : outfile_commit(&out->file);

	outfile_release(&out->file);
	return fleet_watch_failed(out, err == -EPIPE ? 0 : err);
}

static void fleet_watch_add_finding(const struct fleet_finding *finding, struct object *o)
{
	object_add(o, "evidence", value_string(fleet_evidence_name(finding->evidence)));
	object_add(o, "hosts", value_u64(finding->hosts));
	object_add(o, "connections", value_u64(finding->connections));
	object_add(o, "affected", value_u64(finding->affected));
	object_add(o, "share", isfinite(finding->share) ? value_fraction(finding->share) :
							  value_null());
	object_add(o, "share_others", isfinite(finding->share_others) ?
		   value_fraction(finding->share_others) : value_null());
	object_add(o, "lost_ns", value_ns(finding->lost_ns));
}

static void fleet_watch_add(const struct fleet_watch_line *line, struct object *o)
{
	object_add(o, "event", value_string(line->event));
	object_add(o, "time_ns", value_ns(line->time_ns));
	object_add(o, "from_ns", line->to_ns ? value_ns(line->from_ns) : value_null());
	object_add(o, "to_ns", line->to_ns ? value_ns(line->to_ns) : value_null());
	object_add(o, "text", value_string(line->text));
	if (!line->problem)
		return;
	object_add(o, "kind", value_string(line->problem->kind));
	object_add(o, "name", value_string(line->problem->name));
	object_add(o, "problem", value_string(fleet_class_name(line->problem->class)));
	object_add(o, "p_value", value_number(line->problem->p));
	object_add(o, "since_ns", value_ns(line->since_ns));
	if (line->finding)
		fleet_watch_add_finding(line->finding, o);
}

static int fleet_watch_put_json(const struct fleet_watch_line *line, struct strbuf *text)
{
	struct report report;
	struct object *o;
	int err;

	result_begin(&report, "fleet", FLEET_SCHEMA);
	o = object_new(&report);
	fleet_watch_add(line, o);
	object_add(&report.body, "change", value_object(o));
	json_report(&report, JSON_LINE, text);
	err = report_error(&report);
	report_release(&report);
	return err;
}

static int fleet_watch_put_text(const struct fleet_watch_line *line, struct strbuf *text)
{
	char time[HUMAN_MAX];

	strbuf_printf(text, "%s  %-8s ", human_utc(time, line->time_ns, 0, true), line->event);
	utf8_put_clean(text, line->text);
	strbuf_putc(text, '\n');
	return 0;
}

int fleet_watch_tell(struct fleet_watch_output *out, const struct fleet_watch_line *line)
{
	const bool json = out->common->json || out->common->json_lines;
	struct strbuf text = STRBUF_INIT(REPORT_MEMORY_MAX);
	int err = json ? fleet_watch_put_json(line, &text) : fleet_watch_put_text(line, &text);

	err = err ? err : text.error;
	if (!err)
		err = outfile_write(&out->file, strbuf_str(&text), text.len);
	strbuf_release(&text);
	out->reader_gone |= err == -EPIPE;
	return fleet_watch_failed(out, err == -EPIPE ? 0 : err);
}
