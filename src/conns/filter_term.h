/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of a filter, FIELD OP VALUE; for conns/filter.c. */
#ifndef HOSTLAT_CONNS_FILTER_TERM_H
#define HOSTLAT_CONNS_FILTER_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "conns/filter_view.h"

enum filter_op { FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE, FILTER_OPS };

enum filter_truth { FILTER_FALSE, FILTER_UNKNOWN, FILTER_TRUE };

struct filter_term {
	const struct filter_field *field;
	enum filter_op op;
	/* The value; the field's kind decides which members are used. */
	uint64_t number;	/* number; port; set of states, bit n: state n */
	uint8_t family;		/* AF_INET, AF_INET6; 0: any address */
	uint8_t prefix;		/* length of the address prefix in bits */
	bool has_port;
	uint8_t address[16];
	char *text;		/* text of KIND_TEXT or KIND_CLASS; owned */
};

/*
 * Returns the field with this name, or NULL; then `near` becomes a similar field's name, or NULL.
 */
const struct filter_field *filter_field_find(const char *name, const char **near);

/* Stores the operator that a word stands for. Returns false if it is no operator. */
bool filter_op_find(const char *word, enum filter_op *op);

/* Returns whether the operator can compare this field. */
bool filter_field_has_op(const struct filter_field *field, enum filter_op op);

/* Returns a description of the field's values, for "expected ...". */
const char *filter_field_values(const struct filter_field *field);

/* Parses the value of a term that has its field and operator. Returns 0, -EINVAL or -ENOMEM. */
int filter_term_parse(struct filter_term *term, const char *value);
void filter_term_release(struct filter_term *term);

enum filter_truth filter_term_judge(const struct filter_term *term, const struct filter_view *view);

#endif
