/* SPDX-License-Identifier: Apache-2.0 */
/* Abilities of a terminal, and a table that is redrawn in place. */
#ifndef HOSTLAT_OUTPUT_TERMINAL_H
#define HOSTLAT_OUTPUT_TERMINAL_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "output/text.h"

/* Text that goes into a file or a pipe: tables are this wide, and sentences are not wrapped. */
#define TEXT_WIDTH_DEFAULT 120

/*
 * Sets the style for descriptor `fd`: the terminal's width; UTF-8 as LC_ALL, LC_CTYPE and LANG
 * say. Whether to use colour is the caller's choice. Returns whether a table can be redrawn there.
 */
bool terminal_style(int fd, bool color, struct text_style *style);

struct live_table {
	int fd;
	unsigned int drawn;   /* lines on the screen since live_init() or live_keep() */
};

void live_init(struct live_table *live, int fd);
/*
 * Appends to `out` what replaces the text drawn before by `text` (whole lines). Lines beyond the
 * terminal's height are left out, because the cursor can't come back to them.
 */
void live_draw(struct live_table *live, const char *text, struct strbuf *out);
/* Keeps the drawn text; the next drawing comes below. */
void live_keep(struct live_table *live);

#endif
