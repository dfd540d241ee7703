/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a single option (struct opt), for the parser and the writers of help texts. */
#ifndef HOSTLAT_BASE_OPT_ROW_H
#define HOSTLAT_BASE_OPT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "base/strbuf.h"

/* One option and the offset of its value. */
struct opt_slot {
	const struct opt *row;
	size_t offset; /* offset in the outermost config, in bytes */
	bool given;    /* parser: the option is on the command line */
};

struct opt_table {
	struct opt_slot slots[OPT_ROWS_MAX];
	uint32_t len;
};

/* The rows of --help and --help-all, which every command has without listing them. */
extern const struct opt opt_help_row, opt_help_all_row;

/*
 * Fills `table` with one entry (struct opt_slot) per option, in order; nested rows are replaced by
 * the options that they contain. Two options of one name are a bug.
 */
void opt_flatten(const struct opt *rows, struct opt_table *table);

/*
 * Return the slot of the option with this name or letter, or with one of its aliases, or NULL.
 * Positional arguments are not found by name.
 */
struct opt_slot *opt_find_name(struct opt_table *table, const char *name, size_t name_len);
struct opt_slot *opt_find_letter(struct opt_table *table, char letter);

/*
 * Returns the length of the option's next alias, and moves *at to it; *at is row->aliases at first,
 * and then the end of the alias before. Returns 0 after the last one.
 */
size_t opt_next_alias(const char **at);

/* Returns the word for the value in help texts, valid as long as the row. */
const char *opt_metavar(const struct opt *row);

/* Adds the valid values: "a number and a unit (ns, us, ms, s, m, h, d), 10ms to 1d". */
void opt_takes(const struct opt *row, struct strbuf *out);

/* Adds the help sentence with choices, range and default. */
void opt_describe(const struct opt *row, struct strbuf *out);

#endif
