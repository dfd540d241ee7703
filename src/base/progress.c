/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on stderr; rules are in the header. */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/tty.h"
#include "base/utf8.h"

#define QUIET_START_NS NS_PER_S
#define REDRAW_NS (200 * NS_PER_MS)
#define LINE_MAX_BYTES 512
#define PREFIX "hostlat: "

static bool is_drawn; /* the cursor is behind a drawn line */

void progress_begin(struct progress *progress, bool quiet, uint64_t now_ns)
{
	*progress = (struct progress){
		.started_ns = now_ns,
		.enabled = !quiet && tty_obeys(STDERR_FILENO),
	};
}

static bool progress_is_due(const struct progress *progress, uint64_t now_ns)
{
	return progress->enabled && now_ns - progress->started_ns >= QUIET_START_NS &&
	       now_ns - progress->drawn_ns >= REDRAW_NS;
}

/* Cuts the line to the terminal's width: a part of a wrapped line would stay when it is cleared. */
static void progress_draw(char *text)
{
	struct winsize size;
	size_t at = 0, len, room = SIZE_MAX;

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > sizeof(PREFIX))
		room = size.ws_col - sizeof(PREFIX);
	for (; text[at] && room; at += len, room--)
		utf8_next(text + at, &len);
	text[at] = '\0';
	/* One write: a line never appears partially. */
	fprintf(stderr, "\r\033[K" PREFIX "%s", text);
	fflush(stderr);
	is_drawn = true;
}

void progress_text(struct progress *progress, uint64_t now_ns, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	if (!progress_is_due(progress, now_ns))
		return;
	progress->drawn_ns = now_ns;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	progress_draw(text);
}

void progress_phase(struct progress *progress, uint64_t now_ns, const char *text)
{
	if (progress->enabled && now_ns - progress->started_ns >= QUIET_START_NS)
		progress->drawn_ns = now_ns - REDRAW_NS;
	progress_text(progress, now_ns, "%s", text);
}

void progress_clear(void)
{
	if (!is_drawn)
		return;
	is_drawn = false;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (!progress->enabled || !progress->drawn_ns)
		return;
	progress_clear();
	progress->drawn_ns = 0;
}
