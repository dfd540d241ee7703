/* SPDX-License-Identifier: Apache-2.0 */
/* Each value of an enum that results name has a text in the glossary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "cmd/glossary.h"
#include "fleet/sentence.h"
#include "load/gates.h"

static void expect(const struct glossary_entry *e, const char *text)
{
	if (!text)
		print_error("%s, a %s, has a gap in its text\n", e->name, e->kind);
	assert_non_null(text);
	assert_true(strlen(text) > 1 && text[strlen(text) - 1] != ' ');
}

/* An array with an index is as long as its last row: what lies between would have no text. */
static void every_entry_has_a_text(void **state)
{
	struct glossary_entry e;

	(void)state;
	for (unsigned int list = 0; list < GLOSSARY_LISTS; list++) {
		unsigned int i = 0;

		for (; glossary_get(list, i, &e); i++) {
			if (!e.name)
				continue;
			assert_string_not_equal(e.name, "unknown");
			expect(&e, list == GLOSSARY_STAGES ? e.text->effect : e.text->what);
			if (list != GLOSSARY_STAGES && list != GLOSSARY_COLUMNS)
				expect(&e, e.text->todo);
			expect(&e, e.commands ? e.commands : e.kind);
		}
		assert_true(i > 2);
	}
}

static void no_list_has_a_word_twice(void **state)
{
	struct glossary_entry a, b;

	(void)state;
	for (unsigned int list = 0; list < GLOSSARY_LISTS; list++)
		for (unsigned int i = 0; glossary_get(list, i, &a); i++)
			for (unsigned int k = 0; k < i && glossary_get(list, k, &b); k++)
				if (a.name && b.name)
					assert_string_not_equal(a.name, b.name);
}

static void every_gate_is_explained(void **state)
{
	struct strbuf text = STRBUF_INIT(1 << 16);

	(void)state;
	for (unsigned int gate = 0; gate < GATES; gate++) {
		strbuf_reset(&text);
		assert_true(glossary_put(gate_code(gate), &text));
	}
	strbuf_release(&text);
}

/* Adds the meanings of a word of hostlat fleet, one of which must be of this kind. */
static void explains(const char *word, const char *kind)
{
	struct strbuf text = STRBUF_INIT(1 << 16);

	assert_true(glossary_put(word, &text));
	if (!strstr(strbuf_str(&text), kind))
		fail_msg("%s is no %s in:\n%s", word, kind, strbuf_str(&text));
	strbuf_release(&text);
}

static void every_word_of_fleet_is_explained(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < FLEET_EVIDENCES; i++)
		explains(fleet_evidence_name(i), ": evidence of a problem (fleet)");
	for (unsigned int i = 0; i < FLEET_KINDS; i++)
		explains(fleet_kind_name(i), ": resource that connections share (fleet)");
	for (unsigned int i = 0; i < FLEET_CLASSES; i++)
		explains(fleet_class_name(i), ": problem of connections (fleet)");
	explains("more waiting", "more-waiting: column (fleet)");
	explains("over 25 %", "over: column (fleet)");
}

static void all_meanings_are_printed(void **state)
{
	struct strbuf text = STRBUF_INIT(1 << 16);

	(void)state;
	assert_true(glossary_put("window", &text));
	assert_null(strstr(strbuf_str(&text), "\n\n"));
	strbuf_reset(&text);
	assert_true(glossary_put("receiver-window", &text));
	assert_non_null(strstr(strbuf_str(&text), "problem of a connection"));
	assert_non_null(strstr(strbuf_str(&text), "\n\nreceiver-window: limit of a connection"));
	assert_non_null(strstr(strbuf_str(&text), "\n\nreceiver-window: bottleneck of a "));
	strbuf_reset(&text);
	assert_false(glossary_put("receive", &text));
	assert_false(glossary_put("", &text));
	assert_int_equal(text.len, 0);
	strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_has_a_text),
		cmocka_unit_test(no_list_has_a_word_twice),
		cmocka_unit_test(every_gate_is_explained),
		cmocka_unit_test(every_word_of_fleet_is_explained),
		cmocka_unit_test(all_meanings_are_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
