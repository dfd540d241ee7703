/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line by a table of options (struct opt). */
#include "base/opt_parse.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "base/opt_action.h"
#include "base/opt_files.h"
#include "base/opt_row.h"
#include "base/parse.h"

struct opt_parser {
	struct opt_table table;
	char *config;
	char *const *argv;
	int argc;
	int next; /* index of the next unread word */
	struct strbuf *error;
};

static int opt_set_u64(const struct opt *row, const char *text, uint64_t *out,
		       int (*parse)(const char *text, uint64_t *out))
{
	uint64_t value;
	int err;

	err = parse(text, &value);
	if (!err && (value < row->min || (row->max && value > row->max)))
		err = -ERANGE;
	if (!err)
		*out = value;
	return err;
}

static const struct opt_choice *opt_find_choice(const struct opt *row, const char *name, size_t len)
{
	for (const struct opt_choice *choice = row->choices; choice->name; choice++) {
		if (strlen(choice->name) == len && memcmp(choice->name, name, len) == 0)
			return choice;
	}
	return NULL;
}

static int opt_set_choice(const struct opt *row, const char *text, uint32_t *out)
{
	const struct opt_choice *choice = opt_find_choice(row, text, strlen(text));

	if (!choice)
		return -EINVAL;
	*out = (uint32_t)choice->value;
	return 0;
}

static int opt_set_mask(const struct opt *row, const char *text, uint64_t *out)
{
	const struct opt_choice *choice;
	uint64_t mask = 0;
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		choice = opt_find_choice(row, text, len);
		if (!choice)
			return -EINVAL;
		mask |= choice->value;
		if (!text[len])
			break;
	}
	*out = mask;
	return 0;
}

static int opt_set_string(const char *text, const char **out)
{
	if (!*text)
		return -EINVAL;
	*out = text;
	return 0;
}

static int opt_append_item(const char *text, struct opt_list *list)
{
	if (!*text)
		return -EINVAL;
	if (list->len == OPT_LIST_MAX)
		return -E2BIG;
	list->items[list->len++] = text;
	return 0;
}

static int opt_append_file(const char *text, struct opt_files *files)
{
	if (!*text)
		return -EINVAL;
	if (files->len == OPT_FILES_MAX)
		return -E2BIG;
	files->items[files->len++] = text;
	return 0;
}

static int opt_set_value(const struct opt *row, const char *text, void *member)
{
	switch (row->type) {
	case OPT_TYPE_U64:
		return opt_set_u64(row, text, member, parse_u64);
	case OPT_TYPE_DURATION:
		return opt_set_u64(row, text, member, parse_duration);
	case OPT_TYPE_SIZE:
		return opt_set_u64(row, text, member, parse_size);
	case OPT_TYPE_FRACTION:
		return parse_fraction(text, member);
	case OPT_TYPE_PERCENT:
		return parse_percent(text, member);
	case OPT_TYPE_RATE:
		return parse_rate(text, member);
	case OPT_TYPE_ONE_IN:
		return parse_one_in(text, member);
	case OPT_TYPE_STRING:
		return opt_set_string(text, member);
	case OPT_TYPE_CHOICE:
		return opt_set_choice(row, text, member);
	case OPT_TYPE_SET:
		return opt_set_mask(row, text, member);
	case OPT_TYPE_LIST:
		return opt_append_item(text, member);
	case OPT_TYPE_FILES:
		return opt_append_file(text, member);
	case OPT_TYPE_FLAG:
	case OPT_TYPE_END:
	case OPT_TYPE_ROWS:
		break;
	}
	BUG_ON("a row of this type has no value");
	return -EINVAL;
}

static const char *opt_dashes(const struct opt *row)
{
	return row->positional ? "" : "--";
}

/*
 * Adds the valid choice nearest to an unknown value to the error text. If the value is a
 * comma-separated list, the suggestion is for the first unknown word.
 */
static void opt_suggest_choice(struct opt_parser *p, const struct opt *row, const char *text)
{
	char word[64];
	struct nearest nearest;
	size_t len = strcspn(text, ",");

	while (opt_find_choice(row, text, len) && text[len]) {
		text += len + 1;
		len = strcspn(text, ",");
	}
	if (len >= sizeof(word))
		return;
	memcpy(word, text, len);
	word[len] = '\0';
	nearest_init(&nearest, word);
	for (const struct opt_choice *choice = row->choices; choice->name; choice++)
		nearest_offer(&nearest, choice->name);
	if (nearest.best)
		strbuf_printf(p->error, "; did you mean '%s'?", nearest.best);
}

static int opt_refuse_value(struct opt_parser *p, const struct opt *row, const char *text, int err)
{
	if (err == -E2BIG) {
		strbuf_printf(p->error, "%s%s: at most %d values can be "
					"given", opt_dashes(row), row->name,
			      row->type == OPT_TYPE_FILES ? OPT_FILES_MAX : OPT_LIST_MAX);
		return -EINVAL;
	}
	strbuf_printf(p->error, "%s%s takes ", opt_dashes(row), row->name);
	opt_takes(row, p->error);
	strbuf_printf(p->error, ", not '%s'", text);
	if (row->choices)
		opt_suggest_choice(p, row, text);
	else if (row->type == OPT_TYPE_DURATION && *text && !text[strspn(text, "0123456789.")])
		strbuf_printf(p->error, "; did you mean '%ss'?", text);
	return -EINVAL;
}

/* A file that replaces another one would be missing without a word; numbers may be replaced. */
static bool opt_names_another_file(const struct opt *row, const char *text, const void *member)
{
	return row->file && row->type == OPT_TYPE_STRING && !row->positional &&
	       strcmp(*(const char *const *)member, text) != 0;
}

static int opt_parse_value(struct opt_parser *p, struct opt_slot *slot, const char *text)
{
	void *member = p->config + slot->offset;
	int err;

	if (slot->given && opt_names_another_file(slot->row, text, member)) {
		strbuf_printf(p->error, "--%s is given twice, as '%s' and as '%s'", slot->row->name,
			      *(const char **)member, text);
		return -EINVAL;
	}
	err = opt_set_value(slot->row, text, member);
	if (err)
		return opt_refuse_value(p, slot->row, text, err);
	slot->given = true;
	return 0;
}

static int opt_parse_next_value(struct opt_parser *p, struct opt_slot *slot)
{
	if (p->next < p->argc)
		return opt_parse_value(p, slot, p->argv[p->next++]);
	strbuf_printf(p->error, "--%s takes ", slot->row->name);
	opt_takes(slot->row, p->error);
	strbuf_puts(p->error, ", but no value follows");
	return -EINVAL;
}

static bool opt_is_value(const struct opt_parser *p)
{
	return p->next < p->argc && (p->argv[p->next][0] != '-' || !p->argv[p->next][1]);
}

/* Parses the value after an option, which is `text` or else the next word, and further words. */
static int opt_parse_values(struct opt_parser *p, struct opt_slot *slot, const char *text)
{
	int err = text ? opt_parse_value(p, slot, text) : opt_parse_next_value(p, slot);

	while (!err && slot->row->words && opt_is_value(p))
		err = opt_parse_value(p, slot, p->argv[p->next++]);
	return err;
}

static void opt_set_flag(struct opt_parser *p, struct opt_slot *slot)
{
	*(bool *)(p->config + slot->offset) = true;
	slot->given = true;
}

static int opt_refuse_name(struct opt_parser *p, const char *name, size_t len)
{
	struct nearest nearest;
	char word[64];

	strbuf_printf(p->error, "there is no option '--%.*s'", (int)len, name);
	if (len >= sizeof(word))
		return -EINVAL;
	memcpy(word, name, len);
	word[len] = '\0';
	nearest_init(&nearest, word);
	for (uint32_t i = 0; i < p->table.len; i++) {
		if (!p->table.slots[i].row->positional && !p->table.slots[i].row->hidden)
			nearest_offer(&nearest, p->table.slots[i].row->name);
	}
	nearest_offer(&nearest, opt_help_row.name);
	nearest_offer(&nearest, opt_help_all_row.name);
	if (nearest.best)
		strbuf_printf(p->error, "; did you mean '--%s'?", nearest.best);
	return -EINVAL;
}

/* Parses "name" or "name=value", after "--". */
static int opt_parse_long(struct opt_parser *p, const char *name)
{
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	struct opt_slot *slot = opt_find_name(&p->table, name, len);

	if (strcmp(name, opt_help_row.name) == 0)
		return OPT_HELP;
	if (strcmp(name, opt_help_all_row.name) == 0)
		return OPT_HELP_ALL;
	if (!slot)
		return opt_refuse_name(p, name, len);
	if (slot->row->type != OPT_TYPE_FLAG)
		return opt_parse_values(p, slot, value);
	if (value) {
		strbuf_printf(p->error, "--%s takes no value, not '%s'", slot->row->name, value);
		return -EINVAL;
	}
	opt_set_flag(p, slot);
	return 0;
}

/* Parses letters after "-": "a", "ab" (flags), "nvalue". */
static int opt_parse_letters(struct opt_parser *p, const char *letters)
{
	for (; *letters; letters++) {
		struct opt_slot *slot = opt_find_letter(&p->table, *letters);

		if (*letters == opt_help_row.letter)
			return OPT_HELP;
		if (!slot) {
			strbuf_printf(p->error, "there is no option '-%c'", *letters);
			return -EINVAL;
		}
		if (slot->row->type != OPT_TYPE_FLAG)
			return opt_parse_values(p, slot, letters[1] ? letters + 1 : NULL);
		opt_set_flag(p, slot);
	}
	return 0;
}

static int opt_parse_positional(struct opt_parser *p, const char *word)
{
	for (uint32_t i = 0; i < p->table.len; i++) {
		struct opt_slot *slot = &p->table.slots[i];

		if (slot->row->positional && (!slot->given || opt_repeats(slot->row)))
			return opt_parse_value(p, slot, word);
	}
	strbuf_printf(p->error, "unexpected argument '%s'", word);
	return -EINVAL;
}

static int opt_parse_words(struct opt_parser *p)
{
	bool options_end = false;
	int result = OPT_PARSED;

	while (p->next < p->argc && result == OPT_PARSED) {
		const char *word = p->argv[p->next++];

		if (options_end || word[0] != '-' || !word[1])
			result = opt_parse_positional(p, word);
		else if (strcmp(word, "--") == 0)
			options_end = true;
		else if (word[1] == '-')
			result = opt_parse_long(p, word + 2);
		else
			result = opt_parse_letters(p, word + 1);
	}
	return result;
}

static void opt_apply_defaults(struct opt_parser *p)
{
	for (uint32_t i = 0; i < p->table.len; i++) {
		const struct opt *row = p->table.slots[i].row;

		if (row->def)
			BUG_ON(opt_set_value(row, row->def, p->config + p->table.slots[i].offset));
	}
}

static int opt_check_excludes(struct opt_parser *p, const struct opt *row)
{
	const char *name = row->excludes;

	while (name && *name) {
		size_t len = strcspn(name, ",");
		const struct opt_slot *other = opt_find_name(&p->table, name, len);

		BUG_ON(!other);
		if (other->given) {
			strbuf_printf(p->error, "%s%s cannot be combined with --%.*s",
				      opt_dashes(row), row->name, (int)len, name);
			return -EINVAL;
		}
		name += len + (name[len] == ',');
	}
	return 0;
}

/* Checks combinations of options, after the whole command line is parsed. */
static int opt_check_combination(struct opt_parser *p)
{
	for (uint32_t i = 0; i < p->table.len; i++) {
		const struct opt_slot *slot = &p->table.slots[i];
		const struct opt *row = slot->row;

		if (row->required && !slot->given) {
			strbuf_printf(p->error, "%s%s is missing; it takes ", opt_dashes(row),
				      row->name);
			opt_takes(row, p->error);
			return -EINVAL;
		}
		if (slot->given && opt_check_excludes(p, row))
			return -EINVAL;
	}
	return OPT_PARSED;
}

/* Refuses options that the action does not take. */
static int opt_check_action(struct opt_parser *p)
{
	const struct opt_slot *action = opt_action_find(&p->table);
	const struct opt *useless = opt_action_useless(&p->table, p->config);

	if (!useless)
		return OPT_PARSED;
	strbuf_printf(p->error, "--%s has no effect on %s: leave it out (it is for ", useless->name,
		      opt_action_given(action, p->config));
	opt_action_put_names(action->row, opt_action_mask(action->row, useless), p->error);
	strbuf_puts(p->error, ")");
	return -EINVAL;
}

/* Refuses to write to a file that is read. */
static int opt_check_files(struct opt_parser *p)
{
	const char *path = opt_files_clash(&p->table, p->config);

	if (!path)
		return OPT_PARSED;
	strbuf_printf(p->error, "%s is an input and cannot be an output too", path);
	return -EINVAL;
}

int opt_parse(const struct opt *rows, void *config, int argc, char *const *argv,
	      struct strbuf *error)
{
	struct opt_parser p = { .config = config, .argv = argv, .argc = argc, .error = error };
	int result;

	opt_flatten(rows, &p.table);
	opt_apply_defaults(&p);
	result = opt_parse_words(&p);
	if (result == OPT_PARSED)
		result = opt_check_combination(&p);
	if (result == OPT_PARSED)
		result = opt_check_action(&p);
	if (result == OPT_PARSED)
		result = opt_check_files(&p);
	return result;
}
