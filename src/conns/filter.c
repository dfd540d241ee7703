/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "conns/filter_term.h"

#define SHOWN_MAX 40 /* maximum of characters of a filter's word in an error message */
/*
 * Each term takes a node and one to join it to earlier terms; each `not`, of at least one
 * character, takes a node.
 */
#define NODES_MAX (FILTER_TERMS_MAX * 2 + FILTER_LENGTH_MAX)
#define SPECIAL "()=!<>&|\"'"
#define SPACE " \t\n\r"

enum node_kind { NODE_TERM, NODE_NOT, NODE_AND, NODE_OR };

/* Node of the expression tree. In struct filter, children come before their parents. */
struct filter_node {
	enum node_kind kind;
	uint16_t left, right; /* NODE_TERM: `left` is the index of the term; NODE_NOT: no `right` */
};

struct filter {
	struct filter_term terms[FILTER_TERMS_MAX];
	struct filter_node *nodes;
	size_t n_terms, n_nodes;
};

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_OP, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_NOT,
		  TOKEN_AND, TOKEN_OR, TOKEN_BROKEN };

struct filter_parser {
	const char *text, *at; /* the expression; position behind the current token */
	const char *from;      /* start of the current token */
	enum token_kind token;
	char word[FILTER_LENGTH_MAX + 1]; /* current token, if it is TOKEN_WORD, _TEXT or _OP */
	struct filter *filter;
	struct strbuf *why;
	unsigned depth;
};

/* ---- tokens ---- */

static void filter_read_quoted(struct filter_parser *p)
{
	char quote = *p->at++, *to = p->word;

	for (; *p->at && *p->at != quote; p->at++) {
		if (*p->at == '\\' && p->at[1])
			p->at++;
		*to++ = *p->at;
	}
	*to = '\0';
	p->token = *p->at ? TOKEN_TEXT : TOKEN_BROKEN;
	p->at += *p->at != '\0';
}

/* Reads an operator: two characters, such as "==", "&&" and "!=", or one. */
static void filter_read_sign(struct filter_parser *p)
{
	static const char *const twice[] = { "==", "!=", "<=", ">=", "&&", "||" };
	size_t size = 1;

	for (size_t i = 0; i < ARRAY_LEN(twice); i++)
		size = strncmp(p->at, twice[i], 2) == 0 ? 2 : size;
	memcpy(p->word, p->at, size);
	p->word[size] = '\0';
	p->at += size;
}

static enum token_kind filter_word_kind(const char *word)
{
	static const struct {
		const char *word;
		enum token_kind kind;
	} words[] = {
		{ "and", TOKEN_AND }, { "&", TOKEN_AND }, { "&&", TOKEN_AND },
		{ "or", TOKEN_OR }, { "|", TOKEN_OR }, { "||", TOKEN_OR },
		{ "not", TOKEN_NOT }, { "!", TOKEN_NOT }, { "(", TOKEN_OPEN },
		{ ")", TOKEN_CLOSE },
	};
	enum filter_op op;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].word, word) == 0)
			return words[i].kind;
	}
	return filter_op_find(word, &op) ? TOKEN_OP : TOKEN_WORD;
}

static void filter_next(struct filter_parser *p)
{
	size_t size;

	p->at += strspn(p->at, SPACE);
	p->from = p->at;
	if (!*p->at) {
		p->token = TOKEN_END;
		p->word[0] = '\0';
		return;
	}
	if (*p->at == '"' || *p->at == '\'') {
		filter_read_quoted(p);
		return;
	}
	if (strchr(SPECIAL, *p->at)) {
		filter_read_sign(p);
	} else {
		size = strcspn(p->at, SPECIAL SPACE);
		memcpy(p->word, p->at, size);
		p->word[size] = '\0';
		p->at += size;
	}
	p->token = filter_word_kind(p->word);
}

/* ---- error messages ---- */

static int filter_expected(struct filter_parser *p, const char *what)
{
	int size = (int)(p->at - p->from);

	strbuf_printf(p->why, "character %zu: ", (size_t)(p->from - p->text) + 1);
	if (p->token == TOKEN_END)
		strbuf_printf(p->why, "the filter ends, expected %s", what);
	else if (p->token == TOKEN_BROKEN)
		strbuf_printf(p->why, "this text has no closing %c", *p->from);
	else
		strbuf_printf(p->why, "'%.*s%s', expected %s", size > SHOWN_MAX ? SHOWN_MAX : size,
			      p->from, size > SHOWN_MAX ? "..." : "", what);
	return -EINVAL;
}

static int filter_too_much(struct filter_parser *p, const char *what, unsigned most)
{
	strbuf_printf(p->why, "character %zu: more than %u %s",
		      (size_t)(p->from - p->text) + 1, most, what);
	return -E2BIG;
}

static int filter_no_field(struct filter_parser *p)
{
	const char *near = NULL;

	if (p->token == TOKEN_WORD)
		filter_field_find(p->word, &near);
	filter_expected(p, "a field (src, dport, state, app, class, rtt, ...), 'not' or '('");
	if (near)
		strbuf_printf(p->why, "; did you mean %s?", near);
	return -EINVAL;
}

/* ---- parsing ---- */

static uint16_t filter_add_node(struct filter_parser *p, enum node_kind kind, uint16_t left,
				uint16_t right)
{
	struct filter *f = p->filter;

	BUG_ON(f->n_nodes == NODES_MAX);
	f->nodes[f->n_nodes] = (struct filter_node){ kind, left, right };
	return (uint16_t)f->n_nodes++;
}

static int filter_parse_term(struct filter_parser *p, uint16_t *out)
{
	struct filter *f = p->filter;
	struct filter_term *term;
	const char *unused;
	int err;

	if (f->n_terms == FILTER_TERMS_MAX)
		return filter_too_much(p, "comparisons", FILTER_TERMS_MAX);
	term = &f->terms[f->n_terms];
	term->field = p->token == TOKEN_WORD ? filter_field_find(p->word, &unused) : NULL;
	if (!term->field)
		return filter_no_field(p);
	filter_next(p);
	term->op = FILTER_EQ;
	if (p->token == TOKEN_OP) {
		filter_op_find(p->word, &term->op);
		if (!filter_field_has_op(term->field, term->op))
			return filter_expected(p, "= or !=");
		filter_next(p);
	}
	if (p->token != TOKEN_WORD && p->token != TOKEN_TEXT)
		return filter_expected(p, filter_field_values(term->field));
	err = filter_term_parse(term, p->word);
	if (err == -EINVAL)
		return filter_expected(p, filter_field_values(term->field));
	if (err)
		return err;
	*out = filter_add_node(p, NODE_TERM, (uint16_t)f->n_terms++, 0);
	filter_next(p);
	return 0;
}

static int filter_parse_or(struct filter_parser *p, uint16_t *out);

static int filter_parse_unary(struct filter_parser *p, uint16_t *out)
{
	bool negated = p->token == TOKEN_NOT;
	int err;

	if (!negated && p->token != TOKEN_OPEN)
		return filter_parse_term(p, out);
	if (++p->depth > FILTER_DEPTH_MAX)
		return filter_too_much(p, "levels of nested parentheses and nots",
				       FILTER_DEPTH_MAX);
	filter_next(p);
	err = negated ? filter_parse_unary(p, out) : filter_parse_or(p, out);
	if (!err && negated) {
		*out = filter_add_node(p, NODE_NOT, *out, 0);
	} else if (!err) {
		if (p->token != TOKEN_CLOSE)
			return filter_expected(p, "')', 'and' or 'or'");
		filter_next(p);
	}
	p->depth--;
	return err;
}

static int filter_parse_and(struct filter_parser *p, uint16_t *out)
{
	uint16_t right;
	int err = filter_parse_unary(p, out);

	while (!err && p->token != TOKEN_END && p->token != TOKEN_OR && p->token != TOKEN_CLOSE) {
		if (p->token == TOKEN_AND)
			filter_next(p);
		err = filter_parse_unary(p, &right);
		if (!err)
			*out = filter_add_node(p, NODE_AND, *out, right);
	}
	return err;
}

static int filter_parse_or(struct filter_parser *p, uint16_t *out)
{
	uint16_t right;
	int err = filter_parse_and(p, out);

	while (!err && p->token == TOKEN_OR) {
		filter_next(p);
		err = filter_parse_and(p, &right);
		if (!err)
			*out = filter_add_node(p, NODE_OR, *out, right);
	}
	return err;
}

static int filter_parse_all(struct filter_parser *p)
{
	uint16_t root;
	int err;

	filter_next(p);
	if (p->token == TOKEN_END)
		return 0;
	err = filter_parse_or(p, &root);
	if (!err && p->token != TOKEN_END)
		return filter_expected(p, "'and', 'or' or the end");
	return err;
}

int filter_parse(const char *text, struct filter **out, struct strbuf *why)
{
	struct filter_parser *p;
	int err;

	if (strnlen(text, FILTER_LENGTH_MAX + 1) > FILTER_LENGTH_MAX) {
		strbuf_printf(why, "a filter has at most %u characters", FILTER_LENGTH_MAX);
		return -E2BIG;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->text = p->at = text;
	p->why = why;
	p->filter = calloc(1, sizeof(*p->filter));
	if (p->filter)
		p->filter->nodes = calloc(NODES_MAX, sizeof(*p->filter->nodes));
	err = p->filter && p->filter->nodes ? filter_parse_all(p) : -ENOMEM;
	if (err)
		filter_free(p->filter);
	else
		*out = p->filter;
	free(p);
	return err;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < FILTER_TERMS_MAX; i++)
		filter_term_release(&filter->terms[i]);
	free(filter->nodes);
	free(filter);
}

/* ---- matching ---- */

bool filter_match(const struct filter *filter, const struct filter_view *view)
{
	uint8_t truth[NODES_MAX];

	if (!filter->n_nodes)
		return true;
	for (size_t i = 0; i < filter->n_nodes; i++) {
		const struct filter_node *node = &filter->nodes[i];
		uint8_t a, b;

		if (node->kind == NODE_TERM) {
			truth[i] = filter_term_judge(&filter->terms[node->left], view);
			continue;
		}
		a = truth[node->left];
		b = node->kind == NODE_NOT ? 0 : truth[node->right];
		if (node->kind == NODE_NOT)
			truth[i] = FILTER_TRUE - a;
		else if (node->kind == NODE_AND)
			truth[i] = a < b ? a : b;
		else
			truth[i] = a > b ? a : b;
	}
	return truth[filter->n_nodes - 1] == FILTER_TRUE;
}
