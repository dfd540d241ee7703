/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text with placeholders, which each request fills in:
 *
 * 	{key}       text of a key of the workload
 * 	{value}     bytes of a value of the workload
 * 	{seq}       number of the request, from 0
 * 	{random:N}  a number from 0 to N - 1, drawn anew at each place
 *
 * "\{" stands for a brace. Other words in braces are refused, since they may be mistyped; braces
 * around anything else, as in JSON, are plain text.
 */
#ifndef HOSTLAT_LOAD_TEMPLATE_H
#define HOSTLAT_LOAD_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum template_kind { TEMPLATE_TEXT, TEMPLATE_KEY, TEMPLATE_VALUE, TEMPLATE_SEQ, TEMPLATE_RANDOM };

#define TEMPLATE_PARTS_MAX 256
#define TEMPLATE_KEY_MAX 250 /* bytes of a key, at most */

struct template_part {
	enum template_kind kind;
	size_t from, size; /* TEMPLATE_TEXT: its place in template.text, in bytes */
	uint64_t below;    /* TEMPLATE_RANDOM: N */
};

struct template_parts VEC_OF(struct template_part);

struct template {
	struct strbuf text; /* all plain text; owned */
	struct template_parts parts;
	uint32_t uses;      /* mask of placeholders: bits of enum template_kind */
	size_t size_max;    /* largest size of the text without {value}, in bytes */
};

/* The values that a request puts in place of placeholders. `random` is the seed of {random:N}. */
struct template_values {
	const char *key;
	size_t key_size;
	const void *value;
	size_t value_size;
	uint64_t seq, random;
};

/* Initializes an empty template whose plain text has up to `max` bytes. */
void template_init(struct template *t, size_t max);
void template_release(struct template *t);

/* Appends plain text. Errors, -ENOMEM and -E2BIG, are kept for template_error(). */
void template_add(struct template *t, const void *text, size_t size);

/*
 * Parses and appends `size` bytes of text with placeholders. Returns 0, -EINVAL with a sentence in
 * `why`, -ENOMEM or -E2BIG. `what` names the text in the sentence.
 */
int template_parse(struct template *t, const char *text, size_t size, const char *what,
		   struct strbuf *why);

/* Returns the first error of template_add(), or 0. */
int template_error(const struct template *t);

/* Returns the number of bytes that template_put() writes. */
size_t template_size(const struct template *t, const struct template_values *values);

/* Writes the text with its placeholders filled in. Returns the end of the text. */
char *template_put(const struct template *t, const struct template_values *values, char *to);

#endif
