/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt_words.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bug.h"
#include "base/opt_row.h"
#include "base/parse.h"

/* Escapes line ends, as each word is a line of `out`. */
static void opt_words_put_text(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		if (*text == '\n')
			strbuf_puts(out, "\\n");
		else if (*text == '\r')
			strbuf_puts(out, "\\r");
		else if (*text == '\\')
			strbuf_puts(out, "\\\\");
		else
			strbuf_putc(out, *text);
	}
}

char *opt_words_unescape(char *word)
{
	char *to = word;

	for (const char *from = word; *from; from++) {
		if (*from != '\\' || !from[1]) {
			*to++ = *from;
			continue;
		}
		from++;
		*to++ = *from == 'n' ? '\n' : *from == 'r' ? '\r' : *from;
	}
	*to = '\0';
	return word;
}

static const char *opt_words_choice_name(const struct opt *row, uint32_t value)
{
	const struct opt_choice *choice = row->choices;

	while (choice->name && choice->value != value)
		choice++;
	BUG_ON(!choice->name);
	return choice->name;
}

static bool opt_words_is_given(const struct opt *row, const void *member)
{
	switch (row->type) {
	case OPT_TYPE_FLAG:
		return *(const bool *)member;
	case OPT_TYPE_U64:
	case OPT_TYPE_DURATION:
	case OPT_TYPE_SIZE:
	case OPT_TYPE_ONE_IN:
		return *(const uint64_t *)member;
	case OPT_TYPE_FRACTION:
	case OPT_TYPE_PERCENT:
	case OPT_TYPE_RATE:
		return *(const double *)member > 0;
	case OPT_TYPE_STRING:
		return *(const char *const *)member;
	case OPT_TYPE_CHOICE:
		return *(const uint32_t *)member || row->def;
	case OPT_TYPE_SET:
	case OPT_TYPE_LIST:
	case OPT_TYPE_FILES:
	case OPT_TYPE_END:
	case OPT_TYPE_ROWS:
		break;
	}
	BUG_ON("a row of this type has no one value");
	return false;
}

static int opt_words_put_value(const struct opt *row, const void *member, struct strbuf *out)
{
	switch (row->type) {
	case OPT_TYPE_U64:
		strbuf_printf(out, "%" PRIu64, *(const uint64_t *)member);
		return 0;
	case OPT_TYPE_ONE_IN:
		strbuf_printf(out, "1/%" PRIu64, *(const uint64_t *)member);
		return 0;
	case OPT_TYPE_DURATION:
		format_duration(out, *(const uint64_t *)member);
		return 0;
	case OPT_TYPE_SIZE:
		format_size(out, *(const uint64_t *)member);
		return 0;
	case OPT_TYPE_FRACTION:
	case OPT_TYPE_RATE:
		strbuf_printf(out, "%.6f", *(const double *)member);
		return 0;
	case OPT_TYPE_PERCENT:
		strbuf_printf(out, "%.6f", 100 * *(const double *)member);
		return 0;
	case OPT_TYPE_STRING:
		opt_words_put_text(*(const char *const *)member, out);
		return 0;
	case OPT_TYPE_CHOICE:
		strbuf_puts(out, opt_words_choice_name(row, *(const uint32_t *)member));
		return 0;
	default:
		BUG_ON("a row of this type has no one value");
		return -EINVAL;
	}
}

static int opt_words_put_option(const struct opt *row, const void *member, const char *prefix,
				struct strbuf *out)
{
	int err = 0;

	if (!opt_words_is_given(row, member))
		return 0;
	strbuf_printf(out, "%s--%s", prefix, row->name);
	if (row->type != OPT_TYPE_FLAG) {
		strbuf_putc(out, '=');
		err = opt_words_put_value(row, member, out);
	}
	strbuf_putc(out, '\n');
	return err;
}

static void opt_words_put_items(const struct opt *row, const struct opt_list *list,
			       const char *prefix, struct strbuf *out)
{
	for (uint32_t i = 0; i < list->len; i++) {
		strbuf_puts(out, prefix);
		if (!row->positional)
			strbuf_printf(out, "--%s=", row->name);
		opt_words_put_text(list->items[i], out);
		strbuf_putc(out, '\n');
	}
}

static int opt_words_put_positional(const struct opt *row, const void *member, const char *prefix,
				    struct strbuf *out)
{
	int err;

	if (row->type == OPT_TYPE_LIST) {
		opt_words_put_items(row, member, prefix, out);
		return 0;
	}
	if (!opt_words_is_given(row, member))
		return 0;
	strbuf_puts(out, prefix);
	err = opt_words_put_value(row, member, out);
	strbuf_putc(out, '\n');
	return err;
}

int opt_words(const struct opt *rows, const void *config, const char *prefix, struct strbuf *out)
{
	struct opt_table table;
	int err = 0;

	opt_flatten(rows, &table);
	for (int positional = 0; positional <= 1; positional++) {
		if (positional)
			strbuf_printf(out, "%s--\n", prefix);
		for (uint32_t i = 0; !err && i < table.len; i++) {
			const struct opt *row = table.slots[i].row;
			const void *member = (const char *)config + table.slots[i].offset;

			if (row->positional != (bool)positional)
				continue;
			if (positional)
				err = opt_words_put_positional(row, member, prefix, out);
			else if (row->type == OPT_TYPE_LIST)
				opt_words_put_items(row, member, prefix, out);
			else
				err = opt_words_put_option(row, member, prefix, out);
		}
	}
	return err ? err : out->error;
}
