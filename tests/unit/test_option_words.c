/* SPDX-License-Identifier: Apache-2.0 */
/* One meaning for each word and letter, over the option tables of all commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/opt_action.h"
#include "cmd/cmd.h"

#define WORDS_MAX 512

/* One option of one command. */
struct use {
	const struct command *command;
	const struct opt *row;
};

static struct use uses[WORDS_MAX];
static size_t n_uses;

static int collect(void **state)
{
	(void)state;
	for (const struct command *const *c = command_table; *c; c++) {
		struct opt_table table;

		opt_flatten((*c)->options, &table);
		for (uint32_t i = 0; i < table.len; i++) {
			if (table.slots[i].row->positional)
				continue;
			assert_true(n_uses < WORDS_MAX);
			uses[n_uses++] = (struct use){ *c, table.slots[i].row };
		}
	}
	assert_true(n_uses > 100);
	return 0;
}

/* Returns the kind of the value as typed: one word of a list is typed as the only one is. */
static enum opt_type kind_of(const struct opt *row)
{
	return row->type == OPT_TYPE_SET ? OPT_TYPE_CHOICE :
	       row->type == OPT_TYPE_LIST ? OPT_TYPE_STRING : row->type;
}

static void say(const struct use *a, const struct use *b, const char *what)
{
	print_error("%s --%s and %s --%s: %s\n", a->command->name, a->row->name, b->command->name,
		    b->row->name, what);
	fail();
}

/* Calls `check` for each two options of which at least the commands or the rows differ. */
static void for_each_pair(void (*check)(const struct use *a, const struct use *b))
{
	for (size_t i = 0; i < n_uses; i++)
		for (size_t k = 0; k < i; k++)
			check(&uses[i], &uses[k]);
}

static void check_letter(const struct use *a, const struct use *b)
{
	const bool same = !strcmp(a->row->name, b->row->name);

	if (a->row->letter && a->row->letter == b->row->letter && !same)
		say(a, b, "one letter for two words");
	if (same && a->row->letter != b->row->letter)
		say(a, b, "two letters for one word");
}

static void test_letters(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_uses; i++)
		assert_int_not_equal(uses[i].row->letter, opt_help_row.letter);
	for_each_pair(check_letter);
}

static void check_word(const struct use *a, const struct use *b)
{
	if (strcmp(a->row->name, b->row->name) != 0)
		return;
	if (kind_of(a->row) != kind_of(b->row))
		say(a, b, "one word takes values of two kinds");
	if (a->row->file != b->row->file && kind_of(a->row) != OPT_TYPE_STRING)
		say(a, b, "one word is a file in one command only");
}

static void test_words(void **state)
{
	(void)state;
	for_each_pair(check_word);
}

static bool is_alias_of(const struct opt *row, const char *name)
{
	const char *at = row->aliases;

	for (size_t len; (len = opt_next_alias(&at)); at += len)
		if (len > 1 && strlen(name) == len && !strncmp(at, name, len))
			return true;
	return false;
}

/* A former word is never the word of another option, of any command. */
static void check_alias(const struct use *a, const struct use *b)
{
	const char *at = a->row->aliases;

	if (is_alias_of(a->row, b->row->name) || is_alias_of(b->row, a->row->name))
		say(a, b, "a former word of one is the word of the other");
	for (size_t len; (len = opt_next_alias(&at)); at += len) {
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		if (len > 1 && strcmp(a->row->name, b->row->name) != 0 &&
		    is_alias_of(b->row, word))
			say(a, b, "one former word for two options");
	}
}

static void test_aliases(void **state)
{
	(void)state;
	for_each_pair(check_alias);
}

static const struct opt *find(const struct command *command, const char *name)
{
	for (size_t i = 0; i < n_uses; i++)
		if (uses[i].command == command && !strcmp(uses[i].row->name, name))
			return uses[i].row;
	return NULL;
}

/* Commands that run have the word for the length, those that print JSON the word for its place. */
static void test_every_command_has_the_words(void **state)
{
	static const struct {
		const char *if_it_has, *then;
	} rules[] = {
		{ "interval", "for" }, { "rate", "for" }, { "json", "output" },
	};
	uint32_t held = 0;

	(void)state;
	for (const struct command *const *c = command_table; *c; c++) {
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
			if (!find(*c, rules[i].if_it_has))
				continue;
			if (!find(*c, rules[i].then))
				fail_msg("%s has no --%s", (*c)->name, rules[i].then);
			held++;
		}
	}
	assert_true(held > 10);
}

/* Headings are for all options of a command, or for none. */
static void test_groups(void **state)
{
	(void)state;
	for (const struct command *const *c = command_table; *c; c++) {
		struct opt_table table;
		uint32_t grouped = 0, shown = 0;

		opt_flatten((*c)->options, &table);
		for (uint32_t i = 0; i < table.len; i++) {
			shown += !table.slots[i].row->hidden;
			grouped += !table.slots[i].row->hidden && table.slots[i].row->group;
		}
		if (grouped && grouped != shown)
			fail_msg("%s: %u of %u options have a group", (*c)->name, grouped, shown);
		if (!grouped && shown > 3)
			fail_msg("%s: none of %u options has a group", (*c)->name, shown);
	}
}

/* Every command that users see has examples; a measuring or analyzing one has three or more. */
static void test_examples(void **state)
{
	(void)state;
	for (const struct command *const *c = command_table; *c; c++) {
		const struct command_example *e = (*c)->examples;

		if ((*c)->hidden)
			continue;
		assert_non_null(e[0].line);
		if (find(*c, "json"))
			assert_non_null(e[2].line);
		for (int i = 0; i < COMMAND_EXAMPLES && e[i].line; i++) {
			assert_non_null(strstr(e[i].line, (*c)->name));
			assert_true(*e[i].what && e[i].what[strlen(e[i].what) - 1] != '.');
		}
	}
}

static bool names(const char *list, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

/* Options of the load and its end have no effect on what is read; --count ends reading, too. */
static void test_from_refuses_what_has_no_effect(void **state)
{
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < n_uses; i++) {
		const struct opt *row = uses[i].row, *from = find(uses[i].command, "from");

		if (!from || (row->group != OPT_LOAD && row->group != OPT_STOP) ||
		    !strcmp(row->name, "count"))
			continue;
		if (!names(from->excludes, row->name) && !names(row->excludes, "from"))
			fail_msg("%s --from --%s is accepted", uses[i].command->name, row->name);
		refused++;
	}
	assert_true(refused > 20);
}

/* Returns whether the table has an option or argument of this name. */
static bool has_name(const struct opt_table *table, const char *name, size_t len)
{
	bool has = false;

	for (uint32_t i = 0; i < table->len; i++)
		has |= strlen(table->slots[i].row->name) == len &&
		       !strncmp(table->slots[i].row->name, name, len);
	return has;
}

static void check_takes(const struct opt_table *table, const char *takes)
{
	for (size_t len; *takes; takes += len + (takes[len] == ',')) {
		len = strcspn(takes, ",");
		if (!has_name(table, takes, len))
			fail_msg("an action takes '%.*s', which is no option", (int)len, takes);
	}
}

/* Each word that an action takes is an option, and each option is one of an action. */
static void test_actions_take_options(void **state)
{
	unsigned int actions = 0;

	(void)state;
	for (const struct command *const *c = command_table; *c; c++) {
		const struct opt_slot *action;
		struct opt_table table;

		opt_flatten((*c)->options, &table);
		action = opt_action_find(&table);
		for (uint32_t i = 0; action && i < table.len; i++)
			assert_int_not_equal(opt_action_mask(action->row, table.slots[i].row), 0);
		for (unsigned int i = 0; action && action->row->choices[i].name; i++, actions++)
			check_takes(&table, action->row->takes[i]);
	}
	assert_true(actions > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters), cmocka_unit_test(test_words),
		cmocka_unit_test(test_aliases), cmocka_unit_test(test_every_command_has_the_words),
		cmocka_unit_test(test_groups), cmocka_unit_test(test_examples),
		cmocka_unit_test(test_from_refuses_what_has_no_effect),
		cmocka_unit_test(test_actions_take_options),
	};

	return cmocka_run_group_tests(tests, collect, NULL);
}
