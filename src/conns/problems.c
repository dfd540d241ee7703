/* SPDX-License-Identifier: Apache-2.0 */
/* Reports problems: each problem in JSON, a sentence per class in the text. */
#include <inttypes.h>

#include "base/bug.h"
#include "conns/tables.h"
#include "conns/words.h"
#include "report/human.h"

static const struct column problem_columns[] = {
	{ .name = "cookie" }, { .name = "netns" }, { .name = "local" }, { .name = "remote" },
	{ .name = "app" }, { .name = "class" }, { .name = "evidence" }, { .name = "confidence" },
	{ .name = "harmful" }, { .name = "lost_ns" }, { .name = "lost_lo_ns" },
	{ .name = "message" }, { .name = "advice" },
};

static const char *problems_text(struct report *r, const struct strbuf *text)
{
	return text->len ? report_format(r, "%s", strbuf_str(text)) : NULL;
}

/* Returns the time lost to a problem, or its lower bound; null if it is unknown. */
static struct value problems_lost_value(const struct conn_problem *p, uint64_t ns)
{
	return p->harm == CONN_HARMLESS ? value_ns(0) : p->lost_ns ? value_ns(ns) : value_null();
}

static void problems_add_row(const struct conn_selection *s, const struct conn_view *v,
			     const struct selected_problem *problem, struct table *t,
			     struct report *r)
{
	const struct conn_problem *p = &problem->p;
	struct conn_finding finding;

	select_explain(s, v, problem, r, &finding);
	TABLE_ADD(t, words_cookie(r, v->c->cookie), words_netns(v, r), words_local(r, v->flow),
		  words_remote(r, v->flow), value_string(words_app(v)),
		  value_string(conn_class_name(p->class)), value_object(finding.evidence),
		  value_string(conn_confidence_name(p->confidence)),
		  p->harm == CONN_HARM_UNKNOWN ? value_null()
					       : value_bool(p->harm == CONN_HARMFUL),
		  problems_lost_value(p, p->lost_ns), problems_lost_value(p, p->lost_lo_ns),
		  value_string(problems_text(r, &finding.message)),
		  value_string(problems_text(r, &finding.advice)));
	select_release_finding(&finding);
}

void tables_problems(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	struct table *t = table_new(r, problem_columns, ARRAY_LEN(problem_columns));
	struct selected_problem problems[SELECT_PROBLEMS_MAX];
	struct conn_view_buf room;
	uint64_t listed = 0, all = 0;

	if (c->options.text_only)
		return;
	vec_for_each(&s->items, one) {
		size_t n;

		if (!one->judged.problems)
			continue;
		select_view(c, s, one, &room);
		n = select_problems(s, one, &room.view, problems);
		all += n;
		for (size_t i = 0; i < n && listed < TABLES_PROBLEMS_MAX; i++, listed++)
			problems_add_row(s, &room.view, &problems[i], t, r);
	}
	object_add(&r->body, "problems", value_table(t));
	object_add(&r->body, "problems_left_out", value_u64(all - listed));
}

/* ---- sentences ---- */

/* Adds "send-buffer: 10.0.0.1:80 to 10.0.0.2:4000 (nginx), the worst of 3 connections: ...". */
static void problems_add_finding(const struct conn_selection *s, const struct conn_view *v,
				 const struct selected_problem *problem, struct report *r)
{
	const struct value local = words_local(r, v->flow), remote = words_remote(r, v->flow);
	const uint64_t others = s->classes[problem->p.class] - 1;
	const char *app = words_app(v);
	struct conn_finding finding;
	char n[HUMAN_MAX];

	select_explain(s, v, problem, r, &finding);
	report_finding(r, "%s: %s to %s%s%s%s%s%s%s: %s.%s%s%s",
		       conn_class_name(problem->p.class),
		       local.type == VALUE_STRING ? local.string : "?",
		       remote.type == VALUE_STRING ? remote.string : "?",
		       app ? " (" : "", app ? app : "", app ? ")" : "",
		       others ? ", the worst of " : "",
		       others ? human_count(n, others + 1) : "", others ? " connections" : "",
		       strbuf_str(&finding.message), finding.advice.len ? " To do: " : "",
		       strbuf_str(&finding.advice), finding.advice.len ? "." : "");
	select_release_finding(&finding);
}

/*
 * Reports, for a class of problems, the connection that lost the most time, or the first if none
 * lost time.
 */
static void problems_add_class(const struct conns *c, const struct conn_selection *s,
			       unsigned int class, struct report *r)
{
	struct selected_problem problems[SELECT_PROBLEMS_MAX], worst = { 0 };
	const struct selected *owner = NULL;
	struct conn_view_buf room;

	vec_for_each(&s->items, one) {
		size_t n;

		if (!(one->judged.harmful >> class & 1))
			continue;
		select_view(c, s, one, &room);
		n = select_problems(s, one, &room.view, problems);
		for (size_t i = 0; i < n; i++) {
			if (problems[i].p.class != class || problems[i].p.harm != CONN_HARMFUL ||
			    (owner && problems[i].p.lost_lo_ns <= worst.p.lost_lo_ns))
				continue;
			worst = problems[i];
			owner = one;
		}
	}
	if (!owner)
		return;
	select_view(c, s, owner, &room);
	problems_add_finding(s, &room.view, &worst, r);
}

/* Orders problem classes by number of connections; their lost times are not summed by class. */
void tables_findings(const struct conns *c, const struct conn_selection *s, struct report *r)
{
	uint32_t listed = 0, classes = 0;

	for (unsigned int class = 0; class < CONN_CLASSES; class++)
		classes |= (uint32_t)!!s->classes[class] << class;
	for (unsigned int i = 0; i < TABLES_SENTENCES && listed != classes; i++) {
		unsigned int best = CONN_CLASSES;

		for (unsigned int class = 0; class < CONN_CLASSES; class++)
			if (classes >> class & 1 && !(listed >> class & 1) &&
			    (best == CONN_CLASSES || s->classes[class] > s->classes[best]))
				best = class;
		listed |= 1U << best;
		problems_add_class(c, s, best, r);
	}
	if (listed != classes)
		report_finding(r, "Other problems: %s; --json contains their evidence.",
			       words_class_line(classes & ~listed, r));
}
