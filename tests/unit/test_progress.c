/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/progress.h"

/* How long to wait for what must come, and for what must not. */
#define PATIENT_MS 20000
#define SILENT_MS 100

/* Reads the terminal behind stderr, or the pipe in its place. */
struct screen {
	int saved, reader;
};

static void screen_begin(struct screen *screen, bool terminal)
{
	int ends[2];

	if (terminal)
		assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
	else
		assert_int_equal(pipe(ends), 0);
	screen->saved = dup(STDERR_FILENO);
	screen->reader = ends[0];
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
}

static size_t screen_read(const struct screen *screen, int wait_ms, char *text, size_t size)
{
	struct pollfd ready = { .fd = screen->reader, .events = POLLIN };
	ssize_t n = 0;

	/* Text written to a terminal reaches its other end a moment later. */
	if (poll(&ready, 1, wait_ms) > 0 && (ready.revents & POLLIN))
		n = read(screen->reader, text, size - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	return (size_t)n;
}

static void screen_end(const struct screen *screen)
{
	dup2(screen->saved, STDERR_FILENO);
	close(screen->saved);
	close(screen->reader);
}

#define START_NS (7 * NS_PER_S)

static void test_on_terminal(void **state)
{
	struct progress progress;
	struct screen screen;
	char text[256];

	(void)state;
	setenv("TERM", "xterm", 1);
	screen_begin(&screen, true);
	progress_begin(&progress, false, START_NS);
	progress_text(&progress, START_NS + NS_PER_S - 1, "quiet at the start");
	assert_int_equal(screen_read(&screen, SILENT_MS, text, sizeof(text)), 0);
	progress_text(&progress, START_NS + NS_PER_S, "state %d of %s", 3, "7");
	screen_read(&screen, PATIENT_MS, text, sizeof(text));
	assert_string_equal(text, "\r\033[Khostlat: state 3 of 7");
	progress_text(&progress, START_NS + NS_PER_S + 200 * NS_PER_MS - 1, "too soon");
	assert_int_equal(screen_read(&screen, SILENT_MS, text, sizeof(text)), 0);
	progress_text(&progress, START_NS + NS_PER_S + 200 * NS_PER_MS, "again");
	screen_read(&screen, PATIENT_MS, text, sizeof(text));
	assert_string_equal(text, "\r\033[Khostlat: again");
	progress_end(&progress);
	screen_read(&screen, PATIENT_MS, text, sizeof(text));
	assert_string_equal(text, "\r\033[K");
	progress_end(&progress);
	assert_int_equal(screen_read(&screen, SILENT_MS, text, sizeof(text)), 0);
	screen_end(&screen);
}

static void draw_late(bool terminal, bool quiet, const char *term)
{
	struct progress progress;
	struct screen screen;
	char text[256];

	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	screen_begin(&screen, terminal);
	progress_begin(&progress, quiet, START_NS);
	progress_text(&progress, START_NS + 2 * NS_PER_S, "not to be seen");
	progress_end(&progress);
	assert_int_equal(screen_read(&screen, SILENT_MS, text, sizeof(text)), 0);
	screen_end(&screen);
}

static void test_silence(void **state)
{
	struct progress zeroed = { 0 };

	(void)state;
	draw_late(false, false, "xterm");
	draw_late(true, true, "xterm");
	draw_late(true, false, "dumb");
	draw_late(true, false, NULL);
	progress_end(&zeroed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_terminal),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
