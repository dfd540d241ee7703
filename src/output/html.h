/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as one page of HTML that needs nothing else: a browser opens it from a file, without a
 * network, which its content security policy forbids besides. hostlat puts documents into it; what
 * is drawn of them is decided by web/.
 *
 *	html_begin(&html, &out, "before and after");
 *	err = html_add(&html, "before.json", text, n, &fault);
 *	html_end(&html);
 *	err = out.error;
 *
 * Names and texts may come from anybody: they can't end the element that they stand in.
 */
#ifndef HOSTLAT_OUTPUT_HTML_H
#define HOSTLAT_OUTPUT_HTML_H

#include <stddef.h>

#include "base/strbuf.h"
#include "output/json_text.h"

#define HTML_INPUT_MAX (64u << 20) /* bytes of all documents; a browser must parse them, too */
/* Always enough: a byte of input becomes six of the page at most. */
#define HTML_PAGE_MAX (6 * (size_t)HTML_INPUT_MAX + (8u << 20))

struct html {
	struct strbuf *out; /* the caller's, best with the limit HTML_PAGE_MAX */
	struct strbuf left_out;
	size_t documents;
};

/* Begins a page of this title (of any bytes). Released by html_end(). */
void html_begin(struct html *html, struct strbuf *out, const char *title);

/*
 * Adds a result, one JSON document of `n` bytes and a NUL. `name` is what the page calls it.
 * Returns 0, -EBADMSG with `fault` filled if it is damaged (the page is as it was before), or the
 * error of `out`.
 */
int html_add(struct html *html, const char *name, const char *text, size_t n,
	     struct json_text_fault *fault);

/* Has the page say that this one is missing, and why. */
void html_leave_out(struct html *html, const char *name, const struct json_text_fault *fault);

/* Ends the page. Errors are in `out` and, of what was left out, are passed on to it. */
void html_end(struct html *html);

#endif
