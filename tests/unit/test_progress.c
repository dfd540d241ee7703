/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/parse.h"
#include "base/progress.h"

/* What is on the terminal behind stderr, or in the pipe in its place. */
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

static size_t screen_read(const struct screen *screen, char *text, size_t size)
{
	struct pollfd ready = { .fd = screen->reader, .events = POLLIN };
	ssize_t n = 0;

	/* What was written to a terminal reaches its other end a moment later. */
	if (poll(&ready, 1, 100) > 0 && (ready.revents & POLLIN))
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

static void later(struct progress *progress, uint64_t ns)
{
	progress->started_ns -= ns;
	if (progress->drawn_ns)
		progress->drawn_ns -= ns;
}

static void test_on_terminal(void **state)
{
	struct progress progress;
	struct screen screen;
	char text[256];

	(void)state;
	screen_begin(&screen, true);
	progress_begin(&progress, "reading", 200, false);
	progress_update(&progress, 10);
	assert_int_equal(screen_read(&screen, text, sizeof(text)), 0);
	later(&progress, NS_PER_S);
	progress_update(&progress, 50);
	screen_read(&screen, text, sizeof(text));
	assert_non_null(strstr(text, "reading: 25 %"));
	progress_update(&progress, 60);
	assert_int_equal(screen_read(&screen, text, sizeof(text)), 0);
	later(&progress, NS_PER_S);
	progress_update(&progress, 100);
	screen_read(&screen, text, sizeof(text));
	assert_non_null(strstr(text, "reading: 50 %"));
	progress_end(&progress);
	screen_read(&screen, text, sizeof(text));
	assert_string_equal(text, "\r\033[K");
	progress_end(&progress);
	assert_int_equal(screen_read(&screen, text, sizeof(text)), 0);
	screen_end(&screen);
}

static void draw_late(bool terminal, bool quiet)
{
	struct progress progress;
	struct screen screen;
	char text[256];

	screen_begin(&screen, terminal);
	progress_begin(&progress, "reading", 0, quiet);
	later(&progress, 2 * NS_PER_S);
	progress_update(&progress, 1);
	progress_end(&progress);
	assert_int_equal(screen_read(&screen, text, sizeof(text)), 0);
	screen_end(&screen);
}

static void test_silence(void **state)
{
	struct progress zeroed = { 0 };

	(void)state;
	draw_late(false, false);
	draw_late(true, true);
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
