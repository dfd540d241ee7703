/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sentence.h"

#include <ctype.h>
#include <math.h>

#include "base/bug.h"
#include "base/csv_field.h"
#include "base/strbuf.h"
#include "fleet/advice.h"
#include "fleet/doubt.h"
#include "fleet/finding.h"
#include "fleet/state.h"
#include "report/human.h"

#define MEMBERS_BYTES (1u << 20)
#define ROW_BYTES 4096u

const char *fleet_evidence_name(enum fleet_evidence evidence)
{
	static const char *const names[] = {
		[FLEET_MORE] = "more-often", [FLEET_TOGETHER] = "together",
		[FLEET_AT_ONCE] = "at-once",
	};

	BUG_ON(evidence >= ARRAY_LEN(names));
	return names[evidence];
}

const char *fleet_sentence_resource(const struct fleet *f, const struct fleet_finding *i,
				    struct report *r)
{
	return fleet_finding_is_everywhere(i) ? fleet_finding_name(f, i) :
	       report_format(r, "%s %s", fleet_finding_kind(f, i), fleet_finding_name(f, i));
}

/* Returns "Link uplink3", as a sentence begins. */
static const char *fleet_sentence_begin(const struct fleet *f, const struct fleet_finding *i,
					struct report *r)
{
	const char *name = fleet_sentence_resource(f, i, r);

	return report_format(r, "%c%s", toupper((unsigned char)*name), name + 1);
}

static bool fleet_sentence_is_event(const struct fleet_finding *i)
{
	return i->class == FLEET_FAST_RETRANSMIT || i->class == FLEET_TIMEOUT;
}

/*
 * Returns "fast retransmissions in 24 % of its connections' intervals, others' 0.1 %; 18 of 36
 * connections have them".
 */
static const char *fleet_sentence_more(const struct fleet_finding *i, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];
	const char *text = report_format(r, "%s in %s of its connections' %s",
					 fleet_class_label(i->class), human_fraction(a, i->share),
					 fleet_sentence_is_event(i) ? "intervals" : "time");

	if (isfinite(i->share_others))
		text = report_format(r, "%s, others' %s", text,
				     human_fraction(a, i->share_others));
	return report_format(r, "%s; %s of %s have them", text, human_count(a, i->affected),
			     human_counted(b, i->connections, "connection"));
}

/*
 * Returns "7 of 35 connections have timeouts"; without members, "timeouts": a weak correlation of
 * all connections.
 */
static const char *fleet_sentence_count(const struct fleet_finding *i, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	return i->n ? report_format(r, "%s of %s have %s", human_count(a, i->n),
				    human_counted(b, i->connections, "connection"),
				    fleet_class_label(i->class)) :
		      fleet_class_label(i->class);
}

/* Returns "7 of 35 connections have timeouts at the same times (mean correlation 0.04)". */
static const char *fleet_sentence_times(const struct fleet_finding *i, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];
	const char *text = fleet_sentence_count(i, r);

	if (i->evidence == FLEET_TOGETHER)
		return report_format(r, "%s at the same times (mean correlation %.2f)", text,
				     i->rho);
	return report_format(r, "%s at once, within %s from %s", text,
			     human_ns(a, i->to_ns - i->from_ns),
			     human_utc(b, i->from_ns, 0, true));
}

/* ---- paths that are not known ---- */

/* A table of --topology that is missing: its file, and its first line. */
static const struct {
	const char *untested, *doubt, *file, *head;
} tables[] = {
	[DOUBT_NO_RACKS] = { "Racks, switches and links",
			     ", or a rack or link that its connections share", "hosts.csv",
			     "host,rack" },
	[DOUBT_NO_LINKS] = { "Links between racks", ", or a link between racks", "links.csv",
			     "from,to,link" },
};

static const char *fleet_sentence_doubt(const struct fleet *f, const struct fleet_result *result,
					const struct fleet_finding *i)
{
	return doubt_is_path(f, result, i) ? tables[doubt_paths(f)].doubt : "";
}

/* Returns a line of the missing table, such as "web1,RACK" or "rack1,rack2,LINK". */
static const char *fleet_sentence_row(const struct fleet *f, struct report *r)
{
	const bool racks = doubt_paths(f) == DOUBT_NO_LINKS;
	struct strbuf row = STRBUF_INIT(ROW_BYTES);
	const char *words;
	unsigned int n = 0;

	vec_for_each(&f->resources, resource) {
		if (resource->kind != (racks ? FLEET_RACK : FLEET_HOST) || n++ > racks)
			continue;
		csv_field_put(&row, resource->name);
		strbuf_putc(&row, ',');
	}
	words = report_format(r, "%s%s", row.error ? "" : strbuf_str(&row),
			      racks ? "LINK" : "RACK");
	strbuf_release(&row);
	return words;
}

void fleet_sentence_paths(const struct fleet *f, struct report *r)
{
	const enum doubt_paths paths = doubt_paths(f);

	if (paths != DOUBT_PATHS_KNOWN)
		report_finding(r, "%s are not tested. To test them, write a file %s with the lines "
			       "\"%s\", \"%s\" and so on, and give it as well: --topology %s.",
			       tables[paths].untested, tables[paths].file, tables[paths].head,
			       fleet_sentence_row(f, r), tables[paths].file);
}

/* ---- the finding ---- */

const char *fleet_sentence_verdict(const struct fleet *f, const struct fleet_result *result,
					  const struct fleet_finding *i, struct report *r)
{
	char lost[HUMAN_MAX];

	return report_format(r, "%s%s: %s, %s lost.", fleet_sentence_begin(f, i, r),
			     fleet_sentence_doubt(f, result, i),
			     i->evidence == FLEET_MORE ? fleet_sentence_more(i, r) :
							 fleet_sentence_times(i, r),
			     human_ns(lost, i->lost_ns));
}

const char *fleet_sentence_headline(const struct fleet *f, const struct fleet_result *result,
				    const struct fleet_finding *i, struct report *r)
{
	const enum doubt_paths paths = doubt_paths(f);
	const char *verdict = fleet_sentence_verdict(f, result, i, r);

	if (!doubt_is_path(f, result, i))
		return verdict;
	return report_format(r, "%s To tell which: --topology %s, a file with the lines \"%s\", "
			     "\"%s\" and so on.", verdict, tables[paths].file, tables[paths].head,
			     fleet_sentence_row(f, r));
}

/*
 * Returns words where losses that an application's or service's connections have together may be
 * those of a path, though the verdict does not say so.
 */
static const char *fleet_sentence_path(const struct fleet *f, const struct fleet_result *result,
				       const struct fleet_finding *i)
{
	const enum fleet_kind kind = f->resources.items[i->resource].kind;

	return !fleet_sentence_is_event(i) || i->evidence == FLEET_MORE ||
	       fleet_finding_is_everywhere(i) ||
	       (kind != FLEET_APP && kind != FLEET_SERVICE && kind != FLEET_CONTAINER) ||
	       doubt_paths(f) != DOUBT_NO_RACKS || doubt_is_path(f, result, i) ? "" :
	       " A rack or link that they share may be behind it: --topology tells.";
}

/* Returns " Strongest: 10.0.0.1:80 > 10.0.0.2:4000 on web1, ..."; "" without members. */
static const char *fleet_sentence_members(const struct fleet *f, const struct fleet_result *result,
					  const struct fleet_finding *i, uint32_t shown,
					  struct report *r)
{
	const uint32_t n = i->n < shown ? i->n : shown;
	struct strbuf text = STRBUF_INIT(MEMBERS_BYTES);
	char buf[HUMAN_MAX];
	const char *words;

	for (uint32_t k = 0; k < n; k++) {
		const struct fleet_series *s =
			&f->all.items[result->members.items[i->first + k].conn];

		strbuf_printf(&text, "%s%s on %s", k ? ", " : " Strongest: ", s->name,
			      f->resources.items[s->host].name);
	}
	if (n && n < i->n)
		strbuf_printf(&text, " and %s more", human_count(buf, i->n - n));
	words = n ? report_format(r, "%s.", strbuf_str(&text)) : "";
	strbuf_release(&text);
	return words;
}

/*
 * Returns " They share rack r1 and kernel 6.1: nothing tells which is behind it." for a finding
 * about all connections; "" for others.
 */
static const char *fleet_sentence_shared(const struct fleet *f, const struct fleet_result *result,
					 const struct fleet_finding *i, struct report *r)
{
	const struct fleet_resource *own = &f->resources.items[i->resource];
	struct strbuf text = STRBUF_INIT(MEMBERS_BYTES);
	const char *words;

	if (!fleet_finding_is_everywhere(i))
		return "";
	strbuf_printf(&text, "%s %s", fleet_kind_name(own->kind), own->name);
	for (uint32_t k = 0; k < i->n_same; k++) {
		own = &f->resources.items[result->same.items[i->first_same + k]];
		strbuf_printf(&text, "%s%s %s", k + 1 < i->n_same ? ", " : " and ",
			      fleet_kind_name(own->kind), own->name);
	}
	words = report_format(r, " They share %s: none is without %s, so that nothing tells which "
				 "is behind it, or what else they share.", strbuf_str(&text),
			      i->n_same ? "these" : "it");
	strbuf_release(&text);
	return words;
}

const char *fleet_sentence_advice(const struct fleet *f, const struct fleet_finding *i)
{
	return fleet_finding_is_everywhere(i) ?
	       "give recordings of connections without one of these, or tell with --topology and "
	       "--apps in what they differ" :
	       fleet_advice(i->class, f->resources.items[i->resource].kind);
}

void fleet_sentence(const struct fleet *f, const struct fleet_result *result,
		    const struct fleet_finding *i, uint32_t members, struct report *r)
{
	const char *verdict = fleet_sentence_verdict(f, result, i, r);
	const bool said = report_headline_has(r, verdict);

	report_finding(r, "%s%s%s%s What to do: %s.", said ?
		       report_format(r, "%s.", fleet_sentence_begin(f, i, r)) : verdict,
		       fleet_sentence_members(f, result, i, members, r),
		       fleet_sentence_shared(f, result, i, r),
		       fleet_sentence_path(f, result, i), fleet_sentence_advice(f, i));
}
