/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a whole: verdict, tables, findings and reasons, in the order of the JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "conns/peer_report.h"
#include "conns/calls.h"
#include "conns/tables.h"
#include "report/human.h"

#define LATE_TOLD 0.1 /* share of intervals with late samples, from which they are told */

/* ---- summary ---- */

static void conns_report_interval(const struct conns_period *p, struct report *r)
{
	struct object *o = object_new(r);
	const bool known = p->intervals;

	object_add(o, "from_ns", value_known_ns(known, p->from_ns));
	object_add(o, "to_ns", value_known_ns(known, p->to_ns));
	object_add(o, "duration_ns", value_known_ns(known, p->to_ns - p->from_ns));
	object_add(o, "intervals", value_u64(p->intervals));
	object_add(&r->body, "interval", value_object(o));
}

/* Computes hostlat's CPU time as a share of one core; false if it is unknown. */
static bool conns_report_used_share(const struct conns_period *p, double *share)
{
	if (!p->intervals || p->to_ns <= p->from_ns || p->bpf_cost_unknown)
		return false;
	*share = (double)(p->own_user_ns + p->own_bpf_ns) / (double)(p->to_ns - p->from_ns);
	return true;
}

static bool conns_report_parse_share(const char *text, double *share)
{
	char *end;

	if (!text)
		return false;
	*share = strtod(text, &end);
	return end != text && !*end && *share >= 0 && *share < 1e6;
}

static struct value conns_report_share_value(const char *text)
{
	double share;

	return conns_report_parse_share(text, &share) ? value_number(share) : value_null();
}

/* Adds the CPU budget. Its unit is cores: two busy cores are 2, so values are no fractions. */
static void conns_report_budget(const struct conns *c, const struct conns_period *p,
				struct report *r)
{
	struct object *o = object_new(r), *target = object_new(r);
	const bool any = p->intervals;
	double used;

	object_add(target, "low", conns_report_share_value(c->budget_low));
	object_add(target, "high", conns_report_share_value(c->budget_high));
	object_add(o, "target", c->budget_low || c->budget_high ? value_object(target)
							       : value_null());
	object_add(o, "used",
		   conns_report_used_share(p, &used) ? value_number(used) : value_null());
	object_add(o, "user_ns", any ? value_ns(p->own_user_ns) : value_null());
	object_add(o, "bpf_ns", any && !p->bpf_cost_unknown ? value_ns(p->own_bpf_ns)
							    : value_null());
	object_add(o, "method", !any || p->bpf_cost_unknown ? value_null() :
		   value_string(p->bpf_cost_estimated ? "estimate" : "statistics"));
	object_add(o, "late_intervals", p->late ? value_u64(p->late) : value_absent());
	object_add(&r->body, "budget", value_object(o));
}

/* Returns whether no interval was sampled. The number of connections is then unknown, not 0. */
static bool conns_report_is_unseen(const struct conns_period *p)
{
	return p->intervals && p->unseen == p->intervals;
}

static void conns_report_totals(const struct conns *c, const struct conn_selection *s,
				struct report *r)
{
	const bool unseen = conns_report_is_unseen(&c->periods[s->span]);
	const bool known = !unseen || s->connections;
	struct object *o = object_new(r);

	object_add(o, "connections", known ? value_u64(s->connections) : value_null());
	object_add(o, "last_known", value_u64(s->last_known));
	object_add(o, "closed", unseen ? value_null() : value_u64(s->closed));
	object_add(o, "with_problems", known ? value_u64(s->troubled) : value_null());
	object_add(o, "forgotten", value_u64(c->periods[s->span].forgotten));
	object_add(&r->body, "totals", value_object(o));
}

/* Adds the duration, the number of connections and the overhead, as a line of text. */
static void conns_report_scope(const struct conns *c, const struct conn_selection *s,
			       struct report *r)
{
	const struct conns_period *p = &c->periods[s->span];
	const bool unseen = conns_report_is_unseen(p);
	char buf[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX];
	struct string_list *l = list_new(r);
	const char *line;
	double used, lo, hi;

	line = report_format(r, "%s%s", human_ns(buf, p->to_ns - p->from_ns),
			     s->span == CONNS_TOTAL && p->intervals > 1 ? " in total" : "");
	if (!unseen || s->connections)
		line = report_format(r, "%s   %s", line,
				     human_counted(buf, s->connections, "connection"));
	if (unseen && s->connections)
		line = report_format(r, "%s, as seen %s ago: not read since, to keep the CPU "
				     "budget", line, human_ns(buf, p->to_ns - c->seen_to_ns));
	if (s->closed)
		line = report_format(r, "%s   %s closed", line, human_count(buf, s->closed));
	if (conns_report_used_share(p, &used))
		line = report_format(r, "%s   overhead %s of a core", line,
				     human_fraction(buf, used));
	if (conns_report_used_share(p, &used) && conns_report_parse_share(c->budget_low, &lo) &&
	    conns_report_parse_share(c->budget_high, &hi))
		line = report_format(r, "%s (budget %s to %s)", line, human_fraction(low, lo),
				     human_fraction(high, hi));
	if (s->span == CONNS_TOTAL && c->peer_recording)
		line = report_format(r, "%s   %s in common with %s", line,
				     human_ns(buf, c->window.to - c->window.from),
				     peer_report_host(c));
	list_add(l, "%s", line);
	object_add(&r->body, NULL, value_list(l));
}

/* ---- the verdict ---- */

/* Statuses in the order of the text: limits, whose turn it is, the rest. */
static const enum conn_status status_order[CONN_STATUSES] = {
	STATUS_RECEIVER_WINDOW, STATUS_SEND_BUFFER, STATUS_CONGESTION,
	STATUS_PACING, STATUS_LOCAL_QUEUE, STATUS_DELAYED_ACK,
	STATUS_SENDER_APP, STATUS_AWAITING_REPLY, STATUS_AWAITING_REQUEST, STATUS_UNKNOWN,
	STATUS_IDLE,
};

/* Adds the number of connections by status, to the text as one line. */
static void conns_report_states(const struct conn_selection *s, struct report *r)
{
	struct object *o = object_new(r);
	struct string_list *l = list_new(r);
	const char *line = "";
	char buf[HUMAN_MAX];

	for (size_t i = 0; i < CONN_STATUSES; i++) {
		const char *name = conn_status_name(status_order[i]);
		const uint64_t n = s->statuses[status_order[i]];

		object_add(o, name, value_u64(n));
		if (n)
			line = report_format(r, "%s%s%s %s", line, *line ? " · " : "", name,
					     human_count(buf, n));
	}
	if (*line)
		list_add(l, "%s", line);
	object_add(&r->body, "states", value_object(o));
	object_add(&r->body, NULL, value_list(l));
}

/* Returns "receiver-window 8, zero-window 4": connections by class, the largest number first. */
static const char *conns_report_class_counts(const struct conn_selection *s, struct report *r)
{
	const char *line = "";
	uint32_t listed = 0;
	char buf[HUMAN_MAX];

	for (int n = 0; n < CONN_CLASSES; n++) {
		uint64_t most = 0;
		unsigned int best = 0;

		for (unsigned int class = 0; class < CONN_CLASSES; class++) {
			const uint64_t count = s->classes[class] + s->last_known_classes[class];

			if (!(listed >> class & 1) && count > most) {
				most = count;
				best = class;
			}
		}
		if (!most)
			break;
		listed |= 1U << best;
		line = report_format(r, "%s%s%s %s", line, *line ? ", " : "",
				     conn_class_name(best), human_count(buf, most));
	}
	return line;
}

/* Returns whether the time of any listed connection is known. */
static bool conns_report_knows_limits(const struct conns *c, const struct conn_selection *s)
{
	struct conn_view_buf room;

	if (s->connections > s->statuses[STATUS_UNKNOWN])
		return true;
	vec_for_each(&s->items, one) {
		select_view(c, s, one, &room);
		if (conn_knows(room.view.c, CONN_KNOWS_TIMES) && conn_known_ns(room.view.c))
			return true;
	}
	return false;
}

/* Sets the headline: what is wrong with how many connections. */
static void conns_report_verdict(const struct conns *c, const struct conn_selection *s,
				 struct report *r)
{
	char n[HUMAN_MAX], all[HUMAN_MAX];

	if (!s->connections && conns_report_is_unseen(&c->periods[s->span]))
		report_headline(r, "Connections: n/a (the CPU budget was too small to read them).");
	else if (!s->connections)
		report_headline(r, "No TCP connection %s.",
				c->options.select || c->options.follows ? "matches" : "was seen");
	else if (s->troubled)
		report_headline(r, "%s of %s %s a problem that makes data wait: %s.",
				human_count(n, s->troubled),
				human_counted(all, s->connections, "connection"),
				s->troubled == 1 ? "has" : "have", conns_report_class_counts(s, r));
	else if (!conns_report_knows_limits(c, s))
		report_headline(r, "What limits the connections is unknown.");
	else
		report_headline(r, "No connection has a problem that makes data wait.");
}

/* ---- missing measurements ---- */

static const struct column count_columns[] = {
	{ "reason", NULL, 0, 0 }, { "count", NULL, 0, 0 },
};

static const char *conns_report_loss_name(const struct conns *c, const struct conn_count *count)
{
	const char *reason = conns_name(c, DICT_STRING, count->reason);

	return reason ? reason : "unknown";
}

static uint64_t conns_report_counts(const struct conns *c, enum conns_span span, uint8_t what,
				    struct table *t)
{
	uint64_t sum = 0;

	vec_for_each(&c->counts, count) {
		if (count->what != what || !count->count[span])
			continue;
		TABLE_ADD(t, value_string(conns_report_loss_name(c, count)),
			  value_u64(count->count[span]));
		sum += count->count[span];
	}
	return sum;
}

/* Reports calls and connections that were not recorded because of the CPU budget. */
static void conns_report_left_out(const struct conns *c, enum conns_span span, struct report *r)
{
	char buf[HUMAN_MAX];

	vec_for_each(&c->counts, count) {
		const char *reason = conns_name(c, DICT_STRING, count->reason);

		if (count->what != COUNT_LOSS || !count->count[span] || !reason)
			continue;
		if (!strcmp(reason, CONNS_LOSS_CALLS))
			report_finding(r, "%s not logged: call logging may use half of the "
				       "--cpu-budget range. Raise its upper bound or log fewer "
				       "connections.",
				       human_were(buf, count->count[span], "call"));
		else if (!strcmp(reason, CONNS_LOSS_CONNECTIONS))
			report_finding(r, "%s not followed: following all new connections takes "
				       "more than --cpu-budget allows. A hash of the addresses "
				       "selected the followed connections. Raise the upper bound "
				       "to follow all.",
				       human_were(buf, count->count[span], "new connection"));
	}
}

/* Adds the tables of lost and of excluded events. */
static void conns_report_losses(const struct conns *c, enum conns_span span, struct report *r)
{
	const struct conns_period *p = &c->periods[span];
	struct table *losses = table_new(r, count_columns, ARRAY_LEN(count_columns));
	struct table *excluded = table_new(r, count_columns, ARRAY_LEN(count_columns));
	char buf[HUMAN_MAX];
	uint64_t lost;

	lost = conns_report_counts(c, span, COUNT_LOSS, losses);
	if (p->lost_records)
		TABLE_ADD(losses, value_string("events-lost"), value_u64(p->lost_records));
	if (p->names_lost)
		TABLE_ADD(losses, value_string("names-not-kept"), value_u64(p->names_lost));
	if (p->beyond)
		TABLE_ADD(losses, value_string("limit"), value_u64(p->beyond));
	if (p->forgotten)
		TABLE_ADD(losses, value_string("forgotten"), value_u64(p->forgotten));
	/* the result is not partial: only the search for proxies left out some tasks */
	if (p->unfollowed)
		TABLE_ADD(losses, value_string("proxy-candidates"), value_u64(p->unfollowed));
	conns_report_counts(c, span, COUNT_EXCLUDED, excluded);
	if (p->own)
		TABLE_ADD(excluded, value_string("own"), value_u64(p->own));
	object_add(&r->body, "losses", value_table(losses));
	object_add(&r->body, "excluded", value_table(excluded));
	if (lost)
		report_reason(r, "losses", NULL, "%s should have been measured and %s not",
			      human_counted(buf, lost, "event"), lost == 1 ? "was" : "were");
}

static void conns_report_missing(const struct conns *c, struct report *r)
{
	static const struct column columns[] = {
		{ "name", NULL, 0, 0 }, { "why", NULL, 0, 0 },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&c->missing, what) {
		const char *colon = strstr(*what, ": ");

		if (colon)
			TABLE_ADD(t, value_string(report_format(r, "%.*s", (int)(colon - *what),
								*what)),
				  value_string(colon + 2));
		else
			TABLE_ADD(t, value_string(*what), value_null());
	}
	object_add(&r->body, "missing", value_table(t));
}

/* ---- reasons ---- */

static void conns_report_damage(const struct conns *c, struct report *r)
{
	struct strbuf evidence = STRBUF_INIT(1024);

	event_damage_put(&c->damage, &evidence);
	if (evidence.len)
		report_reason(r, "damaged", strbuf_str(&evidence),
			      "the recording is damaged: the report covers its readable part");
	strbuf_release(&evidence);
}

static void conns_report_reasons(const struct conns *c, enum conns_span span, struct report *r)
{
	const struct conns_period *p = &c->periods[span];
	char buf[HUMAN_MAX];

	if (p->lost_records)
		report_reason(r, "events-lost", NULL, "%s lost before hostlat read %s",
			      human_were(buf, p->lost_records, "event"),
			      p->lost_records == 1 ? "it" : "them");
	if (p->names_lost)
		report_reason(r, "names-not-kept", NULL, "%s dropped: a run stores at most "
			      "65,536 names of each kind and 4 MiB in total",
			      human_were(buf, p->names_lost, "name"));
	if (p->refused)
		report_reason(r, "events-invalid", NULL, "%s ignored because of impossible values",
			      human_were(buf, p->refused, "event"));
	if (p->beyond)
		report_reason(r, "limit", NULL, "%s ignored: hostlat conns had reached a limit, "
			      "such as the largest number of connections",
			      human_were(buf, p->beyond, "event"));
	if (p->forgotten)
		report_reason(r, "forgotten", NULL, "%s dropped to limit memory and missing from "
			      "the totals",
			      human_were(buf, p->forgotten, "closed connection"));
	if (span == CONNS_TOTAL) {
		conns_report_damage(c, r);
		peer_report_reasons(c, r);
	}
	if (p->shed)
		report_reason(r, "overhead", NULL, "hostlat stopped measuring: it exceeded its "
			      "overhead limit");
	if (p->partial && !r->partial)
		report_reason(r, "incomplete", NULL,
			      "some intervals are incomplete: events were lost or not measured");
}

/* Copies the findings so far, which are about problems. Returns 0 or -ENOMEM. */
static int conns_report_keep_sentences(struct conns *c, const struct report *r)
{
	int err = 0;

	vec_for_each(&c->sentences, old)
		free(*old);
	vec_clear(&c->sentences);
	for (const struct item *i = r->findings.first; i && !err; i = i->next) {
		char *copy = strdup(i->string);

		err = copy ? vec_push(&c->sentences, copy) : -ENOMEM;
		if (err)
			free(copy);
	}
	return err == -E2BIG ? 0 : err;
}

/*
 * Adds findings about problems: in an interval without samples those of the last one with samples,
 * as long as a connection with a problem is known. Returns 0 or -ENOMEM.
 */
static int conns_report_problems(struct conns *c, const struct conn_selection *s, struct report *r)
{
	tables_findings(c, s, r);
	if (s->span == CONNS_TOTAL)
		return 0;
	if (!conns_report_is_unseen(&c->periods[CONNS_INTERVAL]))
		return conns_report_keep_sentences(c, r);
	if (!r->findings.first && s->troubled)
		vec_for_each(&c->sentences, sentence)
			report_finding(r, "%s", *sentence);
	return 0;
}

/*
 * Adds one finding that names all that was not measured; `missing` has the reasons. Without BPF
 * programs, the finding says why: that explains all the rest.
 */
static void conns_report_caveat(const struct conns *c, struct report *r)
{
	static const char bpf[] = "BPF events", refused[] = "cannot follow connections: ";
	const char *names = "", *why = NULL;

	vec_for_each(&c->missing, what) {
		const char *colon = strstr(*what, ": ");
		const size_t end = colon ? (size_t)(colon - *what) : strlen(*what);
		const char *bracket = memmem(*what, end, " (", 2);
		const size_t len = bracket ? (size_t)(bracket - *what) : end;

		if (colon && !strncmp(*what, bpf, sizeof(bpf) - 1))
			why = colon + 2;
		else
			names = report_format(r, "%s%s%.*s", names, *names ? ", " : "", (int)len,
					      *what);
	}
	if (why && !strncmp(why, refused, sizeof(refused) - 1))
		report_finding(r, "inet_diag only (%s). Not measured: %s; hostlat doctor says why.",
			       why + sizeof(refused) - 1, names);
	else if (why)
		report_finding(r, "inet_diag only (%s). Not measured: %s.", why, names);
	else if (*names)
		report_finding(r, "Not measured: %s; --json and hostlat doctor say why.", names);
}

/* States that come with busy CPUs are missed where samples wait for a CPU, too. */
static void conns_report_late(const struct conns_period *p, struct report *r)
{
	char late[HUMAN_MAX], of[HUMAN_MAX];

	if (p->late && (double)p->late >= LATE_TOLD * (double)p->intervals)
		report_finding(r, "Samples were late in %s of %s (over 10 %% by over 1 ms), "
			       "as hostlat waited for a CPU: what happens while CPUs are busy "
			       "counts too little. A higher priority helps: chrt -r 1 hostlat ...",
			       human_count(late, p->late),
			       human_counted(of, p->intervals, "interval"));
}

int conns_report(struct conns *c, enum conns_span span, struct report *r)
{
	struct conn_selection s;
	int err = select_connections(c, span, &s);

	conns_report_verdict(c, &s, r);
	conns_report_states(&s, r);
	conns_report_scope(c, &s, r);
	conns_report_interval(&c->periods[span], r);
	conns_report_totals(c, &s, r);
	if (span == CONNS_TOTAL)
		peer_report_joined(c, r);
	tables_connections(c, &s, r);
	tables_last_known(c, &s, r);
	tables_problems(c, &s, r);
	if (!err)
		err = tables_groups(c, &s, r);
	if (span == CONNS_TOTAL) {
		tables_timeline(c, r);
		calls_table(c, r);
	}
	conns_report_budget(c, &c->periods[span], r);
	conns_report_losses(c, span, r);
	conns_report_missing(c, r);
	report_place_findings(r);
	if (!err)
		err = conns_report_problems(c, &s, r);
	if (span == CONNS_TOTAL)
		peer_report_findings(c, &s, r);
	conns_report_left_out(c, span, r);
	if (span == CONNS_TOTAL)
		conns_report_late(&c->periods[span], r);
	conns_report_caveat(c, r);
	report_place_verdict(r);
	conns_report_reasons(c, span, r);
	select_release(&s);
	return err ? err : report_error(r);
}
