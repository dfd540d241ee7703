/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes results as one self-contained HTML page: a browser opens it from a file, without a
 * network, which its content security policy forbids. hostlat inserts documents; web/ decides how
 * they are drawn.
 *
 *	html_begin(&html, &out, "before and after");
 *	html_add_word(&html, &word);
 *	err = html_add(&html, "before.json", text, n, &fault);
 *	html_end(&html);
 *	err = out.error;
 *
 * Names and texts may be from anybody: they cannot end the element that contains them.
 */
#ifndef HOSTLAT_OUTPUT_HTML_H
#define HOSTLAT_OUTPUT_HTML_H

#include <stddef.h>

#include "base/strbuf.h"
#include "output/json_text.h"

#define HTML_INPUT_MAX (64u << 20) /* bytes of all documents; a browser must parse them */
/* Enough for any page: a byte of input becomes at most six bytes. */
#define HTML_PAGE_MAX (6 * (size_t)HTML_INPUT_MAX + (8u << 20))

struct html {
	struct strbuf *out; /* the caller's; HTML_PAGE_MAX is a suitable limit */
	struct strbuf left_out, words;
	size_t documents;
};

/* A word that the page explains; NULL where there is nothing to say. */
struct html_word {
	const char *name, *kind, *phrase, *what, *effect, *todo;
};

/*
 * Begins a page with this title (any bytes); NULL: the page makes one of its results. Call
 * html_end() in any case: it frees memory.
 */
void html_begin(struct html *html, struct strbuf *out, const char *title);

/*
 * Adds a result, one JSON document of `n` bytes and a NUL, as `name`. Returns 0; -EBADMSG and the
 * error in `fault` if it is damaged (the page is unchanged); or the error of `out`.
 */
int html_add(struct html *html, const char *name, const char *text, size_t n,
	     struct json_text_fault *fault);

/* Adds a word to the page's glossary. A name may have several meanings. */
void html_add_word(struct html *html, const struct html_word *word);

/* Makes the page show that this document is missing, and why. */
void html_leave_out(struct html *html, const char *name, const struct json_text_fault *fault);

/* Ends the page. All errors, also of html_leave_out() and html_add_word(), are in `out`. */
void html_end(struct html *html);

#endif
