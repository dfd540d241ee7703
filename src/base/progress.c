/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line. */
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"

#define QUIET_START_NS NS_PER_S
#define REDRAW_NS (200 * NS_PER_MS)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total, bool quiet)
{
	*progress = (struct progress){
		.what = what,
		.total = total,
		.started_ns = now_ns(),
		.enabled = !quiet && isatty(STDERR_FILENO),
	};
}

void progress_update(struct progress *progress, uint64_t done)
{
	uint64_t now;

	if (!progress->enabled)
		return;
	now = now_ns();
	if (now - progress->started_ns < QUIET_START_NS || now - progress->drawn_ns < REDRAW_NS)
		return;
	progress->drawn_ns = now;
	if (progress->total)
		fprintf(stderr, "\r\033[Khostlat: %s: %.0f %%", progress->what,
			100.0 * (double)done / (double)progress->total);
	else
		fprintf(stderr, "\r\033[Khostlat: %s: %" PRIu64, progress->what, done);
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
