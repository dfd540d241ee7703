/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of a terminal, and a table that is redrawn in place. */
#ifndef HOSTLAT_OUTPUT_TERMINAL_H
#define HOSTLAT_OUTPUT_TERMINAL_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "output/text.h"

/* Width of tables, in columns, in text for a file or a pipe; sentences are not wrapped there. */
#define TEXT_WIDTH_DEFAULT 120

/*
 * Sets the style for descriptor `fd`: the terminal's width; UTF-8 by LC_ALL, LC_CTYPE and LANG.
 * `color` is the caller's choice. Returns true if a table can be redrawn there.
 */
bool terminal_style(int fd, bool color, struct text_style *style);

struct live_table {
	int fd;
	bool utf8;
	unsigned int drawn;   /* lines drawn since live_init() or live_keep() */
};

void live_init(struct live_table *live, int fd, bool utf8);
/*
 * Appends to `out` the sequence that replaces the drawn text by `text` (whole lines) and, as the
 * last line, `footer` (NULL: none). Lines beyond the terminal's height are dropped, as the cursor
 * cannot return to them, and counted.
 */
void live_draw(struct live_table *live, const char *text, const char *footer, struct strbuf *out);
/* Keeps the drawn text on the screen; the next text is drawn below. */
void live_keep(struct live_table *live);
/* Appends the sequence that empties the screen, whose drawn lines are no longer where they were. */
void live_clear(struct live_table *live, struct strbuf *out);

#endif
