/* SPDX-License-Identifier: Apache-2.0 */
#include "output/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/tty.h"

/* Height of a terminal that does not report its size, e.g. over a serial line. */
#define ROWS_DEFAULT 24
#define WIDTH_MIN 40

/* Reads the environment: setlocale() would change how this process writes numbers. */
static bool terminal_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

bool terminal_style(int fd, bool color, struct text_style *style)
{
	bool terminal = isatty(fd);
	struct winsize size;

	*style = (struct text_style){
		.width = TEXT_WIDTH_DEFAULT,
		.wrap = terminal,
		.advice = terminal,
		.color = color,
		.utf8 = terminal_is_utf8(),
	};
	if (terminal && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		style->width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
	return tty_obeys(fd);
}

void live_init(struct live_table *live, int fd, bool utf8)
{
	*live = (struct live_table){ .fd = fd, .utf8 = utf8 };
}

static unsigned int terminal_rows(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_row < 2)
		return ROWS_DEFAULT;
	return size.ws_row;
}

static unsigned int terminal_count_lines(const char *text)
{
	unsigned int lines = 0;

	for (; *text; lines++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return lines;
}

static void live_put_line(struct live_table *live, const char *text, size_t len, struct strbuf *out)
{
	strbuf_add(out, text, len);
	strbuf_puts(out, "\033[K\n");
	live->drawn++;
}

/* Puts the lines that fit into `rows`, of which the last counts the others. */
static void live_put_lines(struct live_table *live, const char *text, unsigned int rows,
			   struct strbuf *out)
{
	const unsigned int lines = terminal_count_lines(text);
	const unsigned int whole = lines <= rows ? lines : rows - 1;
	char more[32];

	for (unsigned int i = 0; i < whole; i++) {
		size_t len = strcspn(text, "\n");

		live_put_line(live, text, len, out);
		text += len + (text[len] == '\n');
	}
	if (whole < lines) {
		snprintf(more, sizeof(more), "%s +%u lines", live->utf8 ? "\u2026" : "~",
			 lines - whole);
		live_put_line(live, more, strlen(more), out);
	}
}

void live_draw(struct live_table *live, const char *text, const char *footer, struct strbuf *out)
{
	unsigned int rows = terminal_rows(live->fd) - 1;
	unsigned int up = live->drawn < rows ? live->drawn : rows;

	/*
	 * Disables line wrapping while drawing: a wrapped line would take more lines than `drawn`
	 * counts.
	 */
	strbuf_puts(out, "\033[?7l\r");
	if (up)
		strbuf_printf(out, "\033[%uA", up);
	live->drawn = 0;
	live_put_lines(live, text, footer && rows > 1 ? rows - 1 : rows, out);
	if (footer && rows > 1)
		live_put_line(live, footer, strlen(footer), out);
	strbuf_puts(out, "\033[J\033[?7h");
}

void live_keep(struct live_table *live)
{
	live->drawn = 0;
}

void live_clear(struct live_table *live, struct strbuf *out)
{
	strbuf_puts(out, "\033[H\033[2J");
	live->drawn = 0;
}
