/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts of which test inputs are made: words in lines; they may be quoted, # begins a comment. */
#ifndef HOSTLAT_TESTS_WORDS_H
#define HOSTLAT_TESTS_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#define WORDS_MAX 64

/* Begins zeroed but for `path`; the caller counts lines. */
struct words {
	const char *path;      /* for messages */
	unsigned int line;
	char *word[WORDS_MAX]; /* words of the line, into which they point */
	int n, at;             /* how many, and which is next */
};

/* Says where and what, and ends the program. */
__attribute__((noreturn, format(printf, 2, 3)))
void words_die(const struct words *w, const char *fmt, ...);

/* Takes a line apart, in place. */
void words_split(struct words *w, char *line);

bool words_more(const struct words *w);

/* The next ones; that there is none is an error. Times are written as in options, or 0. */
char *words_next(struct words *w);
uint64_t words_number(struct words *w);
uint64_t words_duration(struct words *w);

/* The same of a text. */
uint64_t words_parse_number(const struct words *w, const char *text);
uint64_t words_parse_duration(const struct words *w, const char *text);

#endif
