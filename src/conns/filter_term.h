/* SPDX-License-Identifier: Apache-2.0 */
/* One comparison of a filter: FIELD OP VALUE. For conns/filter.c. */
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
	/* As the field's kind needs it. */
	uint64_t number;	/* a port, too; of states: a bit each */
	uint8_t family;		/* 0: any address */
	uint8_t prefix;		/* bits */
	bool has_port;
	uint8_t address[16];
	char *text;		/* owned */
};

/* NULL: no such field; `near` (or NULL) becomes one that could be meant. */
const struct filter_field *filter_field_find(const char *name, const char **near);

/* False: the word is no operator. */
bool filter_op_find(const char *word, enum filter_op *op);

/* Can this field be compared so? */
bool filter_field_has_op(const struct filter_field *field, enum filter_op op);

/* Returns a description of the field's values, for "expected ...". */
const char *filter_field_values(const struct filter_field *field);

/* Reads the value of a term that has its field and operator. 0, -EINVAL, -ENOMEM. */
int filter_term_parse(struct filter_term *term, const char *value);
void filter_term_release(struct filter_term *term);

enum filter_truth filter_term_judge(const struct filter_term *term, const struct filter_view *view);

#endif
