/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat fleet watch: looks again and again at the last of a fleet's time, with the analysis of
 * fleet report, and prints which findings begin, go on and end.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/stop.h"
#include "cmd/fleet_look.h"
#include "cmd/fleet_watch_tell.h"
#include "fleet/advice.h"
#include "fleet/finding.h"
#include "fleet/sentence.h"
#include "fleet/state.h"
#include "report/human.h"

#define WHY_MAX (64u << 10)
#define LAST_NS (3600 * NS_PER_S)
#define EVERY_NS (60 * NS_PER_S)
#define LAST_MAX 32

struct fleet_watch {
	struct fleet_config c;        /* options of each look, with last_ns set, and since */
	struct fleet_inputs *in;
	struct fleet_changes changes;
	struct fleet_watch_output out;
	struct stop stop;
	char since[LAST_MAX];
	bool any;                     /* a look has succeeded */
	bool stale;                   /* told that no newer data comes */
	bool partial;                 /* something was missing, now or before */
	char *away, *missing;         /* told why looks fail, what is missing; NULL: nothing */
	uint32_t signature;           /* number that stands for the data of the last look */
	uint64_t nothing_ns;          /* end of the look that found nothing, if told; 0: not */
	uint64_t weak;                /* findings of this look that do not suffice to begin */
};

static uint64_t watch_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- lines ---- */

/* Tells something about the look, not about a finding. */
static int watch_tell(struct fleet_watch *w, const char *event, const char *text)
{
	const struct fleet_watch_line line = {
		.event = event, .text = text, .time_ns = watch_clock(CLOCK_REALTIME),
	};

	return fleet_watch_tell(&w->out, &line);
}

/* Returns the end of the look's time. */
static uint64_t watch_end(const struct fleet_watch *w)
{
	return w->in->grid.start_ns + w->in->grid.step_ns * w->in->grid.intervals;
}

static struct fleet_watch_line watch_line(const struct fleet_watch *w, const char *event)
{
	return (struct fleet_watch_line){ .event = event, .time_ns = watch_end(w),
					  .from_ns = w->in->grid.start_ns,
					  .to_ns = watch_end(w) };
}

static int watch_tell_finding(struct fleet_watch *w, const struct fleet *f,
			      const struct fleet_result *result,
			      const struct fleet_finding *finding,
			      const struct fleet_problem *problem, enum fleet_change change)
{
	struct fleet_watch_line line = watch_line(w, change == FLEET_BEGINS ? "begins" :
						     "goes-on");
	struct report report;
	int code;

	report_init(&report, &(struct provenance){ .command = "fleet" });
	line.text = fleet_sentence_verdict(f, result, finding, &report);
	line.problem = problem;
	line.finding = finding;
	line.since_ns = fleet_changes_since(&w->changes, problem);
	code = fleet_watch_tell(&w->out, &line);
	report_release(&report);
	return code;
}

static int watch_tell_ended(struct fleet_watch *w, const struct fleet_followed *ended)
{
	const struct fleet_problem *problem = &ended->problem;
	struct fleet_watch_line line = watch_line(w, "ends");
	struct strbuf text = STRBUF_INIT(WHY_MAX);
	char since[HUMAN_MAX];
	int code;

	strbuf_printf(&text, "%s %s: %s, not found at %u looks; it began at %s.",
		      problem->kind, problem->name,
		      fleet_class_label(problem->class), FLEET_CHANGES_MISSED,
		      human_utc(since, ended->since_ns, 0, true));
	line.text = strbuf_str(&text);
	line.problem = problem;
	line.since_ns = ended->since_ns;
	code = fleet_watch_tell(&w->out, &line);
	strbuf_release(&text);
	return code;
}

/* Tells once in --last of time that nothing is found, or that nothing could be tested. */
static int watch_tell_nothing(struct fleet_watch *w, bool tested)
{
	struct fleet_watch_line line = watch_line(w, tested ? "nothing" : "untested");
	struct strbuf text = STRBUF_INIT(WHY_MAX);
	char n[HUMAN_MAX];
	int code;

	if (fleet_changes_open(&w->changes)) {
		w->nothing_ns = 0;
		return EXIT_OK;
	}
	if (w->nothing_ns && watch_end(w) - w->nothing_ns < w->c.last_ns)
		return EXIT_OK;
	w->nothing_ns = watch_end(w);
	strbuf_puts(&text, tested ? "Nothing is found." :
				    "n/a: no resource has enough connections for a test. Give "
				    "more hosts' recordings, or a longer --last.");
	if (w->weak)
		strbuf_printf(&text, " %s of a single report %s too weak to begin here.",
			      human_counted(n, w->weak, "finding"), w->weak == 1 ? "is" : "are");
	line.text = strbuf_str(&text);
	code = fleet_watch_tell(&w->out, &line);
	strbuf_release(&text);
	return code;
}

/* ---- a look that fails, or lacks something ---- */

/* Tells a text once, and `over` once it has become NULL. */
static int watch_tell_once(struct fleet_watch *w, char **told, const char *text, const char *event,
			   const char *over, const char *over_text)
{
	if (!text && !*told)
		return EXIT_OK;
	if (text && *told && !strcmp(text, *told))
		return EXIT_OK;
	free(*told);
	*told = NULL;
	if (!text)
		return watch_tell(w, over, over_text);
	*told = strdup(text);
	return watch_tell(w, event, text);
}

static int watch_failed(struct fleet_watch *w, int code, const char *why)
{
	if (!w->any) {
		log_error("%s", why);
		return code;
	}
	w->partial = true;
	return watch_tell_once(w, &w->away, why, "away", NULL, NULL);
}

/* Tells what a report from the store would give as reasons. */
static int watch_tell_missing(struct fleet_watch *w, const struct fleet_look *look)
{
	const struct table_row *row;
	struct report report;
	int code;

	report_init(&report, &(struct provenance){ .command = "fleet" });
	if (w->c.store)
		fleet_stored_report(&look->stored, &report);
	w->partial |= report.partial;
	row = report.partial ? report.reasons->first : NULL;
	code = watch_tell_once(w, &w->missing, row ? row->cells[1].string : NULL, "partial",
			       "complete", "Nothing is missing any more.");
	report_release(&report);
	return code;
}

/* Tells once that the newest data is older than a look is long. */
static int watch_tell_stale(struct fleet_watch *w)
{
	const uint64_t now = watch_clock(CLOCK_REALTIME), end = watch_end(w);
	const bool stale = now > end && now - end > w->c.last_ns, was = w->stale;
	char text[2 * HUMAN_MAX], time[HUMAN_MAX];

	w->stale = stale;
	if (!stale)
		return EXIT_OK;
	snprintf(text, sizeof(text), "No data is newer than %s.", human_utc(time, end, 0, true));
	return was ? EXIT_OK : watch_tell(w, "stale", text);
}

/* ---- a look ---- */

static int watch_see(struct fleet_watch *w, const struct fleet *f,
		     const struct fleet_result *result, const struct fleet_finding *finding)
{
	const struct fleet_problem problem = { .kind = fleet_finding_kind(f, finding),
					       .name = fleet_finding_name(f, finding),
					       .class = finding->class, .p = finding->p };
	enum fleet_change change;

	if (fleet_changes_see(&w->changes, &problem, &change)) {
		log_error("cannot follow this many findings");
		return EXIT_CANNOT;
	}
	w->weak += change == FLEET_WEAK;
	return change == FLEET_BEGINS || change == FLEET_GOES_ON ?
	       watch_tell_finding(w, f, result, finding, &problem, change) : EXIT_OK;
}

static int watch_found(struct fleet_watch *w, const struct fleet_look *look)
{
	const struct fleet_followed *ended;
	int code = EXIT_OK;

	w->weak = 0;
	fleet_changes_begin(&w->changes, watch_end(w));
	vec_for_each(&look->result.findings, finding)
		if (code == EXIT_OK)
			code = watch_see(w, look->windows.fleets[0], &look->result, finding);
	while (code == EXIT_OK && (ended = fleet_changes_next_ended(&w->changes)))
		code = watch_tell_ended(w, ended);
	return code == EXIT_OK ? watch_tell_nothing(w, look->result.tested ||
							   !look->result.too_few) : code;
}

/* Returns a number that changes with the data, as far as recordings and windows tell. */
static uint32_t watch_signature(const struct fleet_watch *w, const struct fleet_look *look)
{
	uint32_t signature = 0;

	vec_for_each(&w->in->scan.recordings, r) {
		const uint64_t facts[] = { signature, r->from_ns, r->to_ns, r->run.started_ns };

		signature = hash_bytes(facts, sizeof(facts));
	}
	vec_for_each(&look->stored.windows, i) {
		const uint64_t facts[] = { signature, i->row.window_ns, i->row.version };

		signature = hash_bytes(facts, sizeof(facts));
	}
	return signature;
}

/* Finds and analyzes; *same: there is no other data than at the last look, and no result. */
static int watch_analyze(struct fleet_watch *w, struct fleet_look *look, bool *same)
{
	int code = fleet_look_find(&w->c, w->in, look);
	const uint32_t signature = code == EXIT_OK ? watch_signature(w, look) : 0;

	*same = code == EXIT_OK && w->any && signature == w->signature;
	if (code != EXIT_OK || *same)
		return code;
	code = fleet_look_read(&w->c, w->in, look);
	if (code == EXIT_OK)
		code = fleet_look_analyze(look);
	if (code == EXIT_OK)
		w->signature = signature;
	return code;
}

static int watch_tell_all(struct fleet_watch *w, const struct fleet_look *look, bool same)
{
	int code = watch_tell_once(w, &w->away, NULL, NULL, "back", "The data can be read again.");

	w->any = true;
	if (code == EXIT_OK)
		code = watch_tell_stale(w);
	if (code == EXIT_OK && !same)
		code = watch_tell_missing(w, look);
	return code == EXIT_OK && !same ? watch_found(w, look) : code;
}

static int watch_look(struct fleet_watch *w)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	struct fleet_look look = { 0 };
	bool same;
	int code;

	log_divert(&why);
	code = watch_analyze(w, &look, &same);
	log_divert(NULL);
	if (code == EXIT_OK)
		code = watch_tell_all(w, &look, same);
	else
		code = watch_failed(w, code, strbuf_str(&why));
	fleet_look_release(&look);
	fleet_scan_release(&w->in->scan);
	w->in->scan = (struct fleet_scan){ 0 };
	w->in->shares_left_out = 0;
	strbuf_release(&why);
	return code;
}

/* ---- all looks ---- */

/* Waits until `due_ns` of the monotonic clock, or a signal. Returns whether there was one. */
static bool watch_wait(struct fleet_watch *w, uint64_t due_ns)
{
	struct pollfd fd = { .fd = w->stop.fd, .events = POLLIN };
	uint64_t now;

	while (!stop_requested(&w->stop) && (now = watch_clock(CLOCK_MONOTONIC)) < due_ns)
		poll(&fd, 1, (int)((due_ns - now) / NS_PER_MS) + 1);
	return stop_requested(&w->stop);
}

static int watch_run(struct fleet_watch *w)
{
	uint64_t due_ns = watch_clock(CLOCK_MONOTONIC);
	int code = EXIT_OK;

	for (uint64_t looks = 1; code == EXIT_OK && !w->out.reader_gone; looks++) {
		code = watch_look(w);
		if (looks == w->c.count || code != EXIT_OK)
			break;
		due_ns += w->c.every_ns;
		if (due_ns < watch_clock(CLOCK_MONOTONIC)) /* a look takes longer than --every */
			due_ns = watch_clock(CLOCK_MONOTONIC);
		if (watch_wait(w, due_ns))
			break;
	}
	return code != EXIT_OK ? code : w->partial ? EXIT_PARTIAL : EXIT_OK;
}

static void watch_init(struct fleet_watch *w, const struct fleet_config *c,
		       struct fleet_inputs *in)
{
	*w = (struct fleet_watch){ .c = *c, .in = in };
	w->c.last_ns = c->last_ns ? c->last_ns : LAST_NS;
	w->c.every_ns = c->every_ns ? c->every_ns : EVERY_NS;
	snprintf(w->since, sizeof(w->since), "%" PRIu64 "ns", w->c.last_ns);
	w->c.since = c->store ? w->since : NULL;
	fleet_changes_init(&w->changes, FLEET_FALSE_FINDINGS, w->c.last_ns, w->c.every_ns);
}

int fleet_run_watch(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct fleet_watch w;
	int code, closed;

	watch_init(&w, c, in);
	code = fleet_watch_open(&w.out, &c->common);
	if (code == EXIT_OK && stop_init(&w.stop)) {
		log_error("cannot wait for signals");
		code = EXIT_CANNOT;
	}
	if (code == EXIT_OK)
		code = watch_run(&w);
	closed = fleet_watch_close(&w.out);
	stop_release(&w.stop);
	fleet_changes_release(&w.changes);
	free(w.away);
	free(w.missing);
	return closed == EXIT_OK ? code : closed;
}
