/* SPDX-License-Identifier: Apache-2.0 */
#include "load/failures.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "report/human.h"

#define SHOWN_MOST 4 /* largest number of causes of each kind in text */
#define SPAN_MAX 48
#define SENTENCE_MAX 512

static bool is_outage(const struct load_cause *c)
{
	return c->of == CAUSE_CONNECTION && !strcmp(c->name, CAUSE_OUTAGE);
}

static int more_frequent(const void *a, const void *b)
{
	const struct load_cause *x = *(const struct load_cause *const *)a;
	const struct load_cause *y = *(const struct load_cause *const *)b;

	return sort_order(is_outage(y), is_outage(x)) ?: sort_order(y->count, x->count) ?:
	       strcmp(x->name, y->name);
}

/* Lists the causes of one kind, an outage first, then by frequency. Returns their number. */
static uint32_t failures_sort(const struct causes *causes, enum cause_of of,
			      const struct load_cause *out[CAUSES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < causes->n; i++) {
		if (causes->list[i].of == of)
			out[n++] = &causes->list[i];
	}
	qsort(out, n, sizeof(*out), more_frequent);
	return n;
}

/* Writes when a cause occurred: "at 2.7 s", or "at 2.7 s to 3.7 s". */
static const char *span_of(const struct load_cause *c, char out[SPAN_MAX])
{
	const double first = (double)c->first_ns / 1e9, last = (double)c->last_ns / 1e9;

	if (last - first < 0.05)
		snprintf(out, SPAN_MAX, "at %.1f s", first);
	else
		snprintf(out, SPAN_MAX, "at %.1f s to %.1f s", first, last);
	return out;
}

struct phrase {
	const char *name, *one, *many;
};

static const struct phrase of_requests[] = {
	{ CAUSE_TIMEOUT, "request had no reply within --timeout",
	  "requests had no reply within --timeout" },
	{ CAUSE_CLOSED, "request had no reply: the server closed its connection",
	  "requests had no reply: the server closed their connections" },
	{ CAUSE_CUT, "request had only the beginning of a reply: the server ended its connection",
	  "requests had only the beginning of a reply: the server ended their connections" },
	{ CAUSE_RESET, "request had no reply: its connection was reset",
	  "requests had no reply: their connections were reset" },
	{ CAUSE_GARBLED, "request got a reply that violates the protocol",
	  "requests got replies that violate the protocol" },
	{ CAUSE_REFUSED, "request was refused", "requests were refused" },
	{ CAUSE_NEW_NODE, "request was for a key of a node that the cluster did not have at the "
	  "start of the run", "requests were for keys of nodes that the cluster did not have at "
	  "the start of the run" },
	{ CAUSE_REDIRECTS, "request was sent from node to node of the cluster without a reply",
	  "requests were sent from node to node of the cluster without a reply" },
	/* Redis Cluster: error words of its specification */
	{ "MOVED", "request was for a key of another node of the cluster (MOVED)",
	  "requests were for keys of other nodes of the cluster (MOVED)" },
	{ "ASK", "request was for a key that moves to another node of the cluster (ASK)",
	  "requests were for keys that move to another node of the cluster (ASK)" },
};

/* Advice that follows the text of a cause. */
static const struct {
	const char *name, *advice;
} advices[] = {
	{ "MOVED", "; measure all nodes by a URL with ?cluster=1, or one node by keys with a hash "
		   "tag of its own, such as --command 'GET \\{a}{key}'" },
	{ CAUSE_NEW_NODE, "; repeat the run, which then begins with all nodes" },
	{ CAUSE_REDIRECTS, "; the nodes disagree: see redis-cli --cluster check" },
	{ "ASK", "; repeat the run when the cluster moves no slots" },
};

static const struct phrase of_connections[] = {
	{ CAUSE_TIMEOUT, "connection could not be opened within --timeout",
	  "connections could not be opened within --timeout" },
	{ CAUSE_CLOSED, "connection was closed by the server before a reply",
	  "connections were closed by the server before a reply" },
	{ CAUSE_CUT, "connection was ended by the server in the middle of its first reply",
	  "connections were ended by the server in the middle of their first reply" },
	{ CAUSE_RESET, "connection was reset before a reply",
	  "connections were reset before a reply" },
	{ CAUSE_GARBLED, "connection received bytes that violate the protocol",
	  "connections received bytes that violate the protocol" },
	{ CAUSE_TLS, "connection was ended by TLS", "connections were ended by TLS" },
	{ CAUSE_GOAWAY, "connection was ended by the server's error",
	  "connections were ended by the server's errors" },
	{ CAUSE_PORTS, "connection could not be opened: no local port was left",
	  "connections could not be opened: no local port was left" },
};

static const struct phrase *failures_find_phrase(const struct phrase *list, size_t n,
						 const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i].name, name))
			return &list[i];
	}
	return NULL;
}

static const struct phrase *phrase_of(const struct load_cause *c)
{
	if (c->of == CAUSE_REQUEST)
		return failures_find_phrase(of_requests, ARRAY_LEN(of_requests), c->name);
	if (c->of == CAUSE_CONNECTION)
		return failures_find_phrase(of_connections, ARRAY_LEN(of_connections),
					    strncmp(c->name, CAUSE_TLS "-", 4) ? c->name :
										 CAUSE_TLS);
	return NULL;
}

static const char *failures_verb(const struct load_cause *c)
{
	const bool one = c->count == 1;

	if (c->of == CAUSE_REQUEST)
		return one ? "request was refused" : "requests were refused";
	if (c->of == CAUSE_CONNECTION)
		return one ? "connection could not be opened" : "connections could not be opened";
	return one ? "reply had the status" : "replies had the status";
}

/*
 * Whether to quote a cause's error text. For a lack of local ports (CAUSE_PORTS), the report's own
 * phrase says everything.
 */
static bool failures_has_quote(const struct load_cause *c)
{
	return *c->text && !(c->of == CAUSE_CONNECTION && !strcmp(c->name, CAUSE_PORTS));
}

/* Whether the cause's text comes from the server, and not from hostlat or the system. */
static bool is_own_words(const struct load_cause *c, const struct phrase *phrase)
{
	return strcmp(c->name, CAUSE_GARBLED) != 0 && strcmp(c->name, CAUSE_TIMEOUT) != 0 &&
	       (phrase || c->of != CAUSE_CONNECTION);
}

static void failures_put_outage(const struct load_cause *c, struct strbuf *out)
{
	const double first = (double)c->first_ns / 1e9, last = (double)c->last_ns / 1e9;
	char count[HUMAN_MAX];

	if (c->count == 1)
		strbuf_printf(out, "a thread had no open connection from %.1f s to %.1f s", first,
			      last);
	else
		strbuf_printf(out, "%s times, a thread had no open connection, between %.1f s and "
			      "%.1f s", human_count(count, c->count), first, last);
}

/* Returns the target of a redirect whose cause text is "301 to URL" (load/http.c), or NULL. */
static const char *failures_redirect(const struct load_cause *c)
{
	const char *to = c->text + strcspn(c->text, " ");

	return c->of == CAUSE_REPLY && *c->text == '3' && !strncmp(to, " to ", 4) ? to + 4 : NULL;
}

/* Writes "1000 replies were redirects (HTTP 301) to URL, at 0.0 s to 1.0 s: use that URL". */
static void failures_put_redirect(const struct load_cause *c, const char *to, struct strbuf *out)
{
	char count[HUMAN_MAX], span[SPAN_MAX];

	strbuf_printf(out, "%s %s (%s) to %s, %s: use that URL", human_count(count, c->count),
		      c->count == 1 ? "reply was a redirect" : "replies were redirects", c->name,
		      to, span_of(c, span));
}

static void failures_put_sentence(const struct load_cause *c, struct strbuf *out)
{
	const struct phrase *phrase = phrase_of(c);
	char count[HUMAN_MAX], span[SPAN_MAX];

	human_count(count, c->count);
	if (failures_redirect(c)) {
		failures_put_redirect(c, failures_redirect(c), out);
		return;
	}
	if (is_outage(c)) {
		failures_put_outage(c, out);
		return;
	}
	if (phrase)
		strbuf_printf(out, "%s %s", count, c->count == 1 ? phrase->one : phrase->many);
	else if (c->of == CAUSE_REPLY)
		strbuf_printf(out, "%s %s %s", count, failures_verb(c), c->name);
	else if (c->of == CAUSE_CONNECTION)
		strbuf_printf(out, "%s %s", count, failures_verb(c));
	else
		strbuf_printf(out, "%s %s (%s)", count, failures_verb(c), c->name);
	strbuf_printf(out, ", %s", span_of(c, span));
	if (failures_has_quote(c))
		strbuf_printf(out, is_own_words(c, phrase) ? ": '%s'" : ": %s", c->text);
}

static void failures_put_advice(const struct load_cause *c, struct strbuf *out)
{
	for (size_t i = 0; c->of == CAUSE_REQUEST && i < ARRAY_LEN(advices); i++) {
		if (!strcmp(advices[i].name, c->name))
			strbuf_puts(out, advices[i].advice);
	}
}

static void failures_find_kind(const struct causes *causes, enum cause_of of, struct report *r)
{
	static const char *const nouns[CAUSE_OFS][2] = {
		[CAUSE_REQUEST] = { "request", "requests" },
		[CAUSE_CONNECTION] = { "connection", "connections" },
		[CAUSE_REPLY] = { "reply", "replies" },
	};
	const struct load_cause *list[CAUSES_MAX];
	const uint32_t n = failures_sort(causes, of, list);
	struct strbuf sentence = STRBUF_INIT(SENTENCE_MAX);
	uint64_t rest = 0;
	char count[HUMAN_MAX];

	for (uint32_t i = 0; i < n && i < SHOWN_MOST; i++) {
		strbuf_reset(&sentence);
		failures_put_sentence(list[i], &sentence);
		failures_put_advice(list[i], &sentence);
		report_finding(r, "%s", strbuf_str(&sentence));
	}
	for (uint32_t i = SHOWN_MOST; i < n; i++)
		rest += list[i]->count;
	if (rest)
		report_finding(r, "%s more %s for %u other cause%s (--json lists all causes)",
			       human_count(count, rest), nouns[of][rest != 1], n - SHOWN_MOST,
			       n - SHOWN_MOST == 1 ? "" : "s");
	strbuf_release(&sentence);
}

void failures_find(const struct causes *causes, struct report *r)
{
	static const enum cause_of order[] = { CAUSE_CONNECTION, CAUSE_REQUEST, CAUSE_REPLY };

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		failures_find_kind(causes, order[i], r);
}

void failures_report(const struct causes *causes, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "of" }, { .name = "cause" }, { .name = "count" },
		{ .name = "first_ns" }, { .name = "last_ns" }, { .name = "text" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (int of = 0; of < CAUSE_OFS; of++) {
		const struct load_cause *list[CAUSES_MAX];
		const uint32_t n = failures_sort(causes, of, list);

		for (uint32_t i = 0; i < n; i++)
			TABLE_ADD(t, value_string(cause_of_name(of)), value_string(list[i]->name),
				  value_u64(list[i]->count), value_ns(list[i]->first_ns),
				  value_ns(list[i]->last_ns),
				  value_string(*list[i]->text ? list[i]->text : NULL));
	}
	object_add(&r->body, "failures", value_table(t));
}

void failures_evidence(const struct causes *causes, enum cause_of of, struct strbuf *out)
{
	const struct load_cause *top = causes_top(causes, of);

	if (top)
		failures_put_sentence(top, out);
}

bool failures_outage(const struct causes *causes, struct strbuf *out)
{
	const struct load_cause *outage = causes_find(causes, CAUSE_CONNECTION, CAUSE_OUTAGE);

	if (outage)
		failures_put_outage(outage, out);
	return outage != NULL;
}
