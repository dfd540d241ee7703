/* SPDX-License-Identifier: Apache-2.0 */
#include "load/causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 512
#define OTHER "other"

static const char *const of_names[CAUSE_OFS] = {
	[CAUSE_REQUEST] = "request", [CAUSE_CONNECTION] = "connection", [CAUSE_REPLY] = "reply",
};

const char *cause_of_name(enum cause_of of)
{
	return of_names[of];
}

const struct load_cause *causes_find(const struct causes *causes, enum cause_of of,
				     const char *name)
{
	for (const struct load_cause *c = causes->list; c < causes->list + causes->n; c++) {
		if (c->of == of && !strcmp(c->name, name))
			return c;
	}
	return NULL;
}

const struct load_cause *causes_top(const struct causes *causes, enum cause_of of)
{
	const struct load_cause *top = NULL;

	for (const struct load_cause *c = causes->list; c < causes->list + causes->n; c++) {
		if (c->of == of && strcmp(c->name, CAUSE_OUTAGE) &&
		    (!top || c->count > top->count))
			top = c;
	}
	return top;
}

uint64_t causes_count(const struct causes *causes, enum cause_of of)
{
	uint64_t sum = 0;

	for (const struct load_cause *c = causes->list; c < causes->list + causes->n; c++)
		sum += c->of == of ? c->count : 0;
	return sum;
}

/*
 * Finds or adds the entry of a cause in the table. The last CAUSE_OFS entries of the table are
 * reserved for causes named "other", one for each kind of cause.
 */
static struct load_cause *causes_slot(struct causes *causes, enum cause_of of, const char *name)
{
	struct load_cause *c = (struct load_cause *)causes_find(causes, of, name);

	if (c)
		return c;
	if (causes->n >= CAUSES_MAX - CAUSE_OFS && strcmp(name, OTHER))
		return causes_slot(causes, of, OTHER);
	c = &causes->list[causes->n++];
	*c = (struct load_cause){ .of = of };
	snprintf(c->name, sizeof(c->name), "%s", name);
	return c;
}

/*
 * Adds votes for an error text, by the majority vote algorithm of Boyer and Moore: in the end,
 * `c->text` is the text with the majority of votes, if there is one. An empty text does not vote.
 */
static void causes_vote(struct load_cause *c, const char *text, uint64_t votes)
{
	if (!*text)
		return;
	if (!c->votes || !strcmp(c->text, text)) {
		snprintf(c->text, sizeof(c->text), "%s", text);
		c->votes += votes;
	} else if (votes > c->votes) {
		snprintf(c->text, sizeof(c->text), "%s", text);
		c->votes = votes - c->votes;
	} else {
		c->votes -= votes;
	}
}

static void causes_add_cause(struct causes *causes, const struct load_cause *more)
{
	struct load_cause *c = causes_slot(causes, more->of, more->name);

	if (!c->count || more->first_ns < c->first_ns)
		c->first_ns = more->first_ns;
	if (more->last_ns > c->last_ns)
		c->last_ns = more->last_ns;
	c->count += more->count;
	causes_vote(c, more->text, more->votes);
}

void causes_note(struct causes *causes, enum cause_of of, const char *name, const char *text,
		 uint64_t ns)
{
	struct load_cause one = {
		.of = of, .votes = 1, .count = 1, .first_ns = ns, .last_ns = ns,
	};

	snprintf(one.name, sizeof(one.name), "%s", name);
	snprintf(one.text, sizeof(one.text), "%s", text ? text : "");
	causes_add_cause(causes, &one);
}

void causes_note_span(struct causes *causes, enum cause_of of, const char *name, uint64_t first_ns,
		      uint64_t last_ns)
{
	struct load_cause one = { .of = of, .count = 1, .first_ns = first_ns, .last_ns = last_ns };

	snprintf(one.name, sizeof(one.name), "%s", name);
	causes_add_cause(causes, &one);
}

void causes_add(struct causes *causes, const struct causes *more)
{
	for (uint32_t i = 0; i < more->n; i++)
		causes_add_cause(causes, &more->list[i]);
}

/* ---- facts ---- */

/* Puts a fact per cause: "request COUNT FIRST_NS LAST_NS VOTES NAME<tab>TEXT". */
int causes_put(const struct causes *causes, struct event_sink *sink, uint64_t now)
{
	char value[VALUE_MAX];
	int err = 0;

	for (uint32_t i = 0; i < causes->n && !err; i++) {
		const struct load_cause *c = &causes->list[i];

		snprintf(value, sizeof(value), "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			 " %s\t%s", of_names[c->of], c->count, c->first_ns, c->last_ns, c->votes,
			 c->name, c->text);
		err = event_put_fact(sink, now, LOAD_FACT_CAUSE, value);
	}
	return err;
}

static int causes_parse_kind(const char **at, uint8_t *of)
{
	for (uint8_t i = 0; i < CAUSE_OFS; i++) {
		const size_t len = strlen(of_names[i]);

		if (strncmp(*at, of_names[i], len) || (*at)[len] != ' ')
			continue;
		*of = i;
		*at += len + 1;
		return 0;
	}
	return -EBADMSG;
}

static int causes_parse_number(const char **at, uint64_t *n)
{
	char *end;

	if (**at < '0' || **at > '9')
		return -EBADMSG;
	errno = 0;
	*n = strtoull(*at, &end, 10);
	if (errno || *end != ' ')
		return -EBADMSG;
	*at = end + 1;
	return 0;
}

static bool is_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return true;
}

static int causes_parse_texts(const char *at, struct load_cause *c)
{
	const char *tab = strchr(at, '\t');
	const size_t name = tab ? (size_t)(tab - at) : 0, text = tab ? strlen(tab + 1) : 0;

	if (!name || name >= sizeof(c->name) || text >= sizeof(c->text) ||
	    !is_printable(at, name) || !is_printable(tab + 1, text))
		return -EBADMSG;
	memcpy(c->name, at, name);
	memcpy(c->text, tab + 1, text);
	return 0;
}

int causes_add_fact(struct causes *causes, const char *value)
{
	struct load_cause c = { 0 };
	int err = causes_parse_kind(&value, &c.of);

	if (!err)
		err = causes_parse_number(&value, &c.count);
	if (!err)
		err = causes_parse_number(&value, &c.first_ns);
	if (!err)
		err = causes_parse_number(&value, &c.last_ns);
	if (!err)
		err = causes_parse_number(&value, &c.votes);
	if (!err)
		err = causes_parse_texts(value, &c);
	if (err || !c.count || c.first_ns > c.last_ns)
		return -EBADMSG;
	causes_add_cause(causes, &c);
	return 0;
}
