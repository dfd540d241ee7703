/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the glossary: the texts of the words that results use. */
#ifndef HOSTLAT_CMD_GLOSSARY_ROWS_H
#define HOSTLAT_CMD_GLOSSARY_ROWS_H

#include <stddef.h>

/* Sentences in plain text; all static. NULL where there is nothing to say. */
struct glossary_text {
	const char *what;   /* meaning; follows the entry's phrase, if there is one */
	const char *effect; /* effect on the result or on messages */
	const char *todo;   /* the remedy */
	const char *more;   /* details for the man page only */
};

/*
 * A reason's row: its code, the commands that give it (NULL: those of the list), and the text. The
 * last row has no code.
 */
struct glossary_reason {
	const char *code, *commands;
	struct glossary_text text;
};

/* The rows by list. Those of glossary_text have one row for each value of the list's enum. */
extern const struct glossary_text glossary_causes[], glossary_classes[], glossary_limits[],
	glossary_sides[], glossary_stages[], glossary_whys[], glossary_evidence[],
	glossary_kinds[], glossary_fleet_classes[];
extern const struct glossary_reason glossary_load_reasons[], glossary_other_reasons[],
	glossary_losses[], glossary_columns[];

#endif
