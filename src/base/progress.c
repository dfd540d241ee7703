/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on stderr; rules are in the header. */
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/tty.h"

#define QUIET_START_NS NS_PER_S
#define REDRAW_NS (200 * NS_PER_MS)
#define LINE_MAX_BYTES 512

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
	/* One write: a line never appears partially. */
	fprintf(stderr, "\r\033[Khostlat: %s", text);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (!progress->enabled || !progress->drawn_ns)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->drawn_ns = 0;
}
