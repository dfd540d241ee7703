/* SPDX-License-Identifier: Apache-2.0 */
/* The history of runs: a sound run tells of unsound ones before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "base/strbuf.h"
#include "cmd/load_earlier.h"
#include "load/history.h"

#define NOW 1800000000u
#define URL "http://10.0.0.2/"

static void test_counts(void **state)
{
	static const char text[] = "1799999990 ok " URL "\n"
				   "1799999991 host-noisy " URL "\n"
				   "1799999992 host-noisy,not-converged " URL "\n"
				   "1799999992 not-converged,rate-not-reached " URL "\n"
				   "1799999992 non-stationary-shift,host-noisy " URL "\n"
				   "1799999993 host-noisy http://10.0.0.3/\n"   /* another target */
				   "1799999994 host-noisy " URL "a\n"           /* the same */
				   "1799900000 host-noisy " URL "\n"            /* too old */
				   "1800000001 host-noisy " URL "\n"            /* not yet */
				   "1799999995 ok " URL;                        /* without an end */
	struct load_history h;

	(void)state;
	load_history_count(text, URL, NOW, &h);
	assert_int_equal(h.runs, 6);
	assert_int_equal(h.unsound, 3); /* a load that is too high is so in each run */
	assert_int_equal(h.n_codes, 2);
	assert_int_equal(h.codes[0].runs, 3);
	assert_string_equal(h.codes[0].code, "host-noisy");
	assert_int_equal(h.codes[1].runs, 1);
	load_history_count("", URL, NOW, &h);
	assert_int_equal(h.runs, 0);
}

/* Nothing of a damaged or a foreign file is told, or stays in the file. */
static void test_damaged(void **state)
{
	static const char *const lines[] = {
		"", " ", "x", "1799999990", "1799999990 ", "1799999990 ok", "1799999990 ok ",
		"1799999990  " URL, "x ok " URL, "-1 ok " URL, "17999999 90 ok " URL,
		"99999999999999999999999 ok " URL, "1799999990x ok " URL,
	};
	struct load_history h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		load_history_count(lines[i], URL, NOW, &h);
		if (h.runs)
			fail_msg("counted: '%s'", lines[i]);
	}
	/* a reason counts only if it is one */
	load_history_count("1799999990 \033[31m,A,,host-noisyx,host-nois " URL "\n", URL, NOW, &h);
	assert_int_equal(h.runs, 1);
	assert_int_equal(h.unsound, 0);
}

static void test_file_is_bounded(void **state)
{
	const struct provenance who = { .command = "load", .schema = 1 };
	struct strbuf old = STRBUF_INIT(1 << 20), new = STRBUF_INIT(1 << 20);
	struct load_history h;
	struct report r;

	(void)state;
	report_init(&r, &who);
	report_reason(&r, "host-noisy", NULL, "noisy");
	report_reason(&r, "tail-heavy", NULL, "heavy");
	strbuf_puts(&old, "damaged\n");
	for (uint32_t i = 0; i < 2 * LOAD_HISTORY_LINES; i++)
		strbuf_printf(&old, "%u ok " URL "\n", NOW - 1000 + i % 1000);
	strbuf_puts(&old, "cut");
	load_history_append(&new, strbuf_str(&old), URL, NOW, &r);
	load_history_count(strbuf_str(&new), URL, NOW, &h);
	assert_int_equal(h.runs, LOAD_HISTORY_LINES);
	assert_int_equal(h.unsound, 1);
	assert_null(strstr(strbuf_str(&new), "damaged"));
	assert_null(strstr(strbuf_str(&new), "cut"));
	assert_non_null(strstr(strbuf_str(&new), "1800000000 host-noisy,tail-heavy " URL "\n"));
	report_release(&r);
	strbuf_release(&old);
	strbuf_release(&new);
}

/* Makes the report of a run, sound or not; returns what it says of earlier ones. */
static uint64_t report_run(bool sound, bool *told)
{
	const struct provenance who = { .command = "load", .schema = 1 };
	const struct object_field *field;
	uint64_t runs = UINT64_MAX;
	struct report r;

	report_init(&r, &who);
	if (!sound)
		report_reason(&r, "host-noisy", NULL, "noisy");
	load_earlier_report(URL, &r);
	for (field = r.body.first; field; field = field->next)
		if (!strcmp(field->name, "earlier_runs"))
			runs = field->value.object->first->value.u64;
	*told = r.findings.first != NULL;
	report_release(&r);
	return runs;
}

static void test_told(void **state)
{
	char folder[] = "/tmp/hostlat-history-XXXXXX", path[128];
	bool told;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("XDG_STATE_HOME", folder, 1);
	assert_int_equal(report_run(true, &told), 0);
	assert_false(told);
	assert_int_equal(report_run(true, &told), 1);
	assert_false(told); /* all were sound */
	assert_int_equal(report_run(false, &told), 2);
	assert_false(told); /* it is unsound itself */
	assert_int_equal(report_run(true, &told), 3);
	assert_true(told);
	snprintf(path, sizeof(path), "%s/hostlat/load-runs", folder);
	unlink(path);
	/* a link is neither followed nor an error, and no folder is no error */
	assert_int_equal(symlink("/dev/zero", path), 0);
	report_run(true, &told);
	assert_false(told);
	unlink(path);
	snprintf(path, sizeof(path), "%s/hostlat", folder);
	assert_int_equal(rmdir(path), 0);
	rmdir(folder);
	setenv("XDG_STATE_HOME", "/dev/null", 1);
	assert_int_equal(report_run(true, &told), UINT64_MAX);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(report_run(true, &told), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_file_is_bounded), cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
