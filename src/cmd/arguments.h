/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the command line of a child process (cmd/child.h). */
#ifndef HOSTLAT_CMD_ARGUMENTS_H
#define HOSTLAT_CMD_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cmd/child.h"

struct child_arguments {
	const char *words[CHILD_WORDS_MAX];
	size_t n;
	struct strbuf texts[16]; /* formatted arguments, owned */
	size_t made;
	int error; /* -errno if arguments are missing */
};

/* Adds a word, which must outlive `w`. Words beyond CHILD_WORDS_MAX are left out. */
void arguments_add(struct child_arguments *w, const char *text);

/* Adds an option and its value; nothing if the value is NULL, or 0. */
void arguments_add_option(struct child_arguments *w, const char *name, const char *value);
void arguments_add_number(struct child_arguments *w, const char *name, uint64_t value);

/* Returns a formatted text that `w` owns. */
const char *arguments_format(struct child_arguments *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void arguments_release(struct child_arguments *w);

#endif
