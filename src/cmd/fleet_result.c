/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_result.h"

#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "report/human.h"

#define NAMED_MAX 5u  /* hosts or files that a sentence names */
#define NAMES_BYTES 2048u

/* Names of the hosts or files that something is true of. */
struct fleet_names {
	struct strbuf text;
	uint64_t n;
};

#define FLEET_NAMES_INIT { .text = STRBUF_INIT(NAMES_BYTES) }

static void fleet_names_add(struct fleet_names *names, const char *name)
{
	if (names->n++ < NAMED_MAX)
		strbuf_printf(&names->text, "%s%s", names->n > 1 ? ", " : "", name);
}

/* Returns "a, b, c, d, e and 3 more", which belongs to the report. */
static const char *fleet_names_text(const struct fleet_names *names, struct report *r)
{
	return names->n <= NAMED_MAX ? report_format(r, "%s", strbuf_str(&names->text)) :
	       report_format(r, "%s and %" PRIu64 " more", strbuf_str(&names->text),
			     names->n - NAMED_MAX);
}

/* ---- hosts and recordings ---- */

/* Returns whether the clock was synchronized; NULL: unknown. */
static const char *fleet_result_synchronized(const struct fleet_recording *recording)
{
	static const char *const names[] = { [FLEET_SYNC_YES] = "yes", [FLEET_SYNC_NO] = "no" };

	return names[recording->synchronized];
}

static struct value fleet_result_error(const struct fleet_recording *recording)
{
	const uint64_t error = fleet_scan_error_ns(recording);

	return recording->synchronized == FLEET_SYNC_YES && recording->max_error_ns ?
	       value_ns(error) : value_null();
}

static void fleet_result_recordings(const struct fleet_inputs *in, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "host" }, { .name = "file" }, { .name = "rack" }, { .name = "instance" },
		{ .name = "kernel" }, { .name = "from_ns" }, { .name = "to_ns" },
		{ .name = "clock_synchronized" }, { .name = "clock_error_ns" },
		{ .name = "connections" }, { .name = "own" }, { .name = "records" },
		{ .name = "untimed" }, { .name = "invalid" }, { .name = "lost" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&in->scan.recordings, i) {
		const struct topology_host told = topology_host(in->topology, i->run.host);

		TABLE_ADD(t, value_string(i->run.host), value_string(i->path),
			  value_string(told.rack),
			  value_string(told.instance ? told.instance :
				       *i->product ? i->product : NULL),
			  value_string(*i->run.kernel ? i->run.kernel : NULL),
			  value_ns(i->from_ns), value_ns(i->to_ns),
			  value_string(fleet_result_synchronized(i)), fleet_result_error(i),
			  value_u64(i->connections), value_u64(i->own), value_u64(i->records),
			  value_u64(i->untimed), value_u64(i->refused), value_u64(i->lost));
	}
	object_add(&r->body, "recordings", value_table(t));
}

/* ---- sentences ---- */

/* Tells hosts that the topology lacks, if it has racks. */
static void fleet_result_racks(const struct fleet_inputs *in, struct report *r)
{
	struct fleet_names names = FLEET_NAMES_INIT;

	for (size_t i = 0; i < in->scan.hosts.len; i++)
		if (!topology_host(in->topology, in->scan.hosts.items[i]).rack)
			fleet_names_add(&names, in->scan.hosts.items[i]);
	if (names.n && topology_has_racks(in->topology))
		report_finding(r, "%" PRIu64 " of %zu hosts %s in no rack: --topology has no row "
			       "with a rack of %s. Racks, switches and links do not count them.",
			       names.n, in->scan.hosts.len, names.n == 1 ? "is" : "are",
			       fleet_names_text(&names, r));
	strbuf_release(&names.text);
}

/*
 * Tells hosts whose clocks may be further from the others' than a quarter of an interval: problems
 * of several hosts at the same time are then in different intervals.
 */
static void fleet_result_clocks(const struct fleet_inputs *in, struct report *r)
{
	struct fleet_names loose = FLEET_NAMES_INIT, far = FLEET_NAMES_INIT;
	char step[HUMAN_MAX];

	vec_for_each(&in->scan.recordings, i) {
		const uint64_t error = fleet_scan_error_ns(i);

		if (i > in->scan.recordings.items && i[-1].host == i->host)
			continue;
		if (error == UINT64_MAX)
			fleet_names_add(&loose, i->run.host);
		else if (error > in->grid.step_ns / 4)
			fleet_names_add(&far, i->run.host);
	}
	if (loose.n && in->scan.hosts.len > 1)
		report_finding(r, "The clock of %s was not synchronized, so that nothing bounds "
			       "its error: problems at the same times as on other hosts may be "
			       "missed. To do: run chrony or ntpd there.",
			       fleet_names_text(&loose, r));
	if (far.n && in->scan.hosts.len > 1)
		report_finding(r, "The clock of %s may be off by more than a quarter of --step "
			       "%s: problems at the same times as on other hosts may be missed. "
			       "To do: a longer --step.", fleet_names_text(&far, r),
			       human_ns(step, in->grid.step_ns));
	strbuf_release(&loose.text);
	strbuf_release(&far.text);
}

/* ---- reasons ---- */

static void fleet_result_damage(const struct fleet_inputs *in, struct report *r)
{
	struct fleet_names damaged = FLEET_NAMES_INIT, open = FLEET_NAMES_INIT;
	const char *evidence = NULL;

	vec_for_each(&in->scan.recordings, i) {
		evidence = evidence || !*i->damaged ? evidence : i->damaged;
		if (*i->damaged)
			fleet_names_add(&damaged, i->path);
		else if (!i->ended)
			fleet_names_add(&open, i->path);
	}
	if (damaged.n)
		report_reason(r, "damaged", evidence, "%" PRIu64 " of %zu recordings "
			      "%s damaged, of which the readable part counts: %s", damaged.n,
			      in->scan.recordings.len, damaged.n == 1 ? "is" : "are",
			      fleet_names_text(&damaged, r));
	if (open.n)
		report_reason(r, "recording-incomplete", NULL, "%" PRIu64 " of %zu recordings "
			      "%s before the end of the run: %s", open.n,
			      in->scan.recordings.len, open.n == 1 ? "stops" : "stop",
			      fleet_names_text(&open, r));
	strbuf_release(&damaged.text);
	strbuf_release(&open.text);
}

static void fleet_result_counts(const struct fleet_inputs *in, struct report *r)
{
	uint64_t untimed = 0, refused = 0, lost = 0, beyond = in->shares_left_out;
	char n[HUMAN_MAX];

	vec_for_each(&in->scan.recordings, i) {
		/* a damaged recording may lack readings of its clock */
		untimed += *i->damaged ? 0 : i->untimed;
		refused += i->refused;
		lost += i->lost;
		beyond += i->beyond;
	}
	if (lost)
		report_reason(r, "events-lost", NULL, "%s lost before hostlat recorded %s",
			      human_counted(n, lost, "event"), lost == 1 ? "it" : "them");
	if (refused)
		report_reason(r, "events-invalid", NULL, "%s ignored because of impossible values",
			      human_counted(n, refused, "record"));
	if (untimed)
		report_reason(r, "clock-set", NULL, "%s left out: a host's clock was set "
			      "meanwhile, so that the time of %s is unknown",
			      human_counted(n, untimed, "record"), untimed == 1 ? "it" : "these");
	if (beyond)
		report_reason(r, "limit", NULL, "%s, or resources of a connection, left out: "
			      "there are more than hostlat stores",
			      human_counted(n, beyond, "connection"));
}

void fleet_result_add(const struct fleet_inputs *in, struct report *r)
{
	fleet_result_recordings(in, r);
	fleet_result_racks(in, r);
	fleet_result_clocks(in, r);
	fleet_result_damage(in, r);
	fleet_result_counts(in, r);
}
