/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result model: a command's result as data.
 *
 * An analysis fills one struct report; src/output renders it as text or JSON without knowing
 * which command made it. The body is an ordered object of named fields: numbers, strings,
 * objects, lists and tables with typed columns. The order of the fields and of the columns is
 * the order of the output.
 *
 * One description serves people and programs: a column's (or field's) `name` is its JSON key
 * and its `head` is its heading in text. Without a name it is not in JSON, without a heading it
 * is not in text. Objects are for programs only; results in them for people must also be put
 * into the summary line or into a sentence.
 *
 * Memory: everything belongs to the report and lives until report_release(). Strings given to
 * the functions below are copied. Names, heads and other `const char *` of struct column
 * are borrowed: give literals. A histogram is borrowed: it must outlive the report.
 *
 * Errors: an allocation that fails is remembered in report_error(), and every function
 * accepts the NULL that an earlier one returned, so that a builder checks once, at its end.
 */
#ifndef HOSTLAT_REPORT_REPORT_H
#define HOSTLAT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hist;
struct report;

/* Memory limit of a report: a larger report is a bug or an attack. Error -E2BIG. */
#define REPORT_MEMORY_MAX (256UL << 20)

/* Every distribution is shown at these quantiles: 0.5, 0.9, 0.99, 0.999. */
#define REPORT_QUANTILES 4

enum report_quantile { REPORT_P50, REPORT_P90, REPORT_P99, REPORT_P999 };

/* A quantile is marked ~ in text if fewer values lie beyond it. */
#define REPORT_BEYOND_MIN 10

/* One estimated quantile. Unknown numbers are null in JSON and n/a in text. */
struct report_quantile_value {
	double q;                 /* quantile, 0 < q < 1 */
	bool known;               /* ns holds a value: one or more lie beyond it on average */
	bool rough;               /* fewer than 10 lie beyond it */
	bool bounded;             /* lo_ns and hi_ns hold values */
	uint64_t ns;
	uint64_t lo_ns, hi_ns;    /* the true value is in [lo_ns, hi_ns] */
};

struct distribution {
	const struct hist *hist;  /* never NULL; may be empty */
	uint64_t count, min, max; /* those of `hist` when this was made: it may grow since */
	struct report_quantile_value quantiles[REPORT_QUANTILES];
};

enum value_type {
	VALUE_ABSENT,             /* the field does not apply: no key in JSON, blank in text */
	VALUE_NULL,               /* the field applies but is unknown: null in JSON, n/a in text */
	VALUE_BOOL,
	VALUE_U64,
	VALUE_S64,
	VALUE_NS,                 /* unsigned nanoseconds; the JSON name ends in _ns */
	VALUE_SNS,                /* signed nanoseconds */
	VALUE_FRACTION,           /* 0..1 in JSON, percent in text */
	VALUE_NUMBER,             /* any other real number; not finite: becomes VALUE_NULL */
	VALUE_STRING,
	VALUE_OBJECT,
	VALUE_LIST,               /* list of strings */
	VALUE_TABLE,
	VALUE_DISTRIBUTION,
	VALUE_JSON,               /* another result's JSON document; not in text */
	VALUE_PLOT,               /* text: a plot of a table ; not in JSON */
	VALUE_VERDICT,            /* position of the verdict and its reasons among the fields */
};

struct value {
	enum value_type type;
	union {
		bool boolean;
		uint64_t u64;     /* VALUE_U64, VALUE_NS */
		int64_t s64;      /* VALUE_S64, VALUE_SNS */
		double fraction;
		double number;
		const char *string; /* VALUE_STRING, VALUE_JSON */
		struct object *object;
		struct string_list *list;
		struct table *table;
		const struct distribution *distribution;
		const struct plot *plot;
	};
};

/* Named values, in order. */
struct object {
	struct report *report;
	struct object_field *first, *last;
};

struct object_field {
	struct object_field *next;
	const char *name;
	struct value value;
};

/* Strings in order, e.g. findings. Text shows one per line. */
struct string_list {
	struct report *report;
	struct item *first, *last;
	size_t count;
};

struct item {
	struct item *next;
	const char *string;
};

/* Parts of a distribution that text shows; JSON always has all parts. */
enum {
	SHOW_COUNT = 1 << 0,
	SHOW_P50   = 1 << 1,
	SHOW_P90   = 1 << 2,
	SHOW_P99   = 1 << 3,
	SHOW_P999  = 1 << 4,
	SHOW_MAX   = 1 << 5,
	SHOW_SPARK = 1 << 6,      /* a small histogram, on a log axis shared by all rows */
};

enum {
	COLUMN_INLINE = 1 << 0,   /* JSON: the distribution's fields are members of the row */
	COLUMN_FLEX   = 1 << 1,   /* text: may be shortened if the line is too long */
	COLUMN_SPARE  = 1 << 2,   /* text: dropped if shortening does not suffice */
};

struct column {
	const char *name;         /* JSON key; NULL: text only */
	const char *head;         /* text heading; NULL: JSON only. Prefix of a distribution's
				   * headings: "step" gives "step p99"; may be "" */
	unsigned int flags;       /* COLUMN_* flags */
	unsigned int show;        /* SHOW_* parts of a distribution */
};

struct table_row {
	struct table_row *next;
	const char *note;         /* text: replaces the absent cells at the row's end. JSON omits a
				   * row with a note */
	struct value cells[];     /* one value per column */
};

struct table {
	struct report *report;
	const char *head;         /* text: line above the table, or NULL */
	const struct column *columns;
	size_t ncolumns;
	struct table_row *first, *last;
	size_t nrows;             /* number of rows, including rows with a note */
};

/* A column of a table, and its name in the legend of a plot. */
struct plot_column {
	const char *column;       /* NULL: none */
	const char *name;
};

/* Marks the rows in which a column is true, below the x axis. */
struct plot_mark {
	const char *column;       /* NULL: none */
	char sign;
	const char *name;
};

#define PLOT_MARKS 3

/*
 * A plot of a table: which columns are drawn, and how. A plot has no data of its own: it draws the
 * rows that JSON has. Cells that are null, absent or not finite are not drawn. Borrows its strings.
 */
struct plot {
	const char *title;
	const char *rows;         /* field of the report's body: the table */
	bool log_x, log_y;        /* logarithmic axes, for values above 0 */
	const char *x;            /* column */
	bool steps;               /* a row lasts until its `x_end`; otherwise it is one point */
	const char *x_end;        /* column; NULL: the x of the next row */
	struct plot_column bars;  /* drawn from the lower edge */
	struct plot_column points;
	const char *lo, *hi;      /* columns of an interval; NULL: none. A lo that is null: it
				   * begins at the point */
	const char *interval;     /* name of the interval */
	struct plot_column verdict; /* rows whose text here is not `good` have another sign */
	const char *good;
	struct plot_mark marks[PLOT_MARKS];
};

/* Origin of a measurement, first in every document: host, time, version. */
struct provenance {
	const char *version;      /* version of hostlat */
	const char *command;
	unsigned int schema;      /* version of the command's document; incremented when a field
				   * changes */
	const char *host;
	uint64_t started_ns;      /* ns since 1970, UTC; 0: unknown */
};

struct report {
	struct provenance provenance;
	const char *headline;     /* the result as one sentence, or NULL: none */
	bool headline_in_text;    /* text prints the headline as its first line */
	const char *title;        /* text: begin of the line below, or NULL */
	struct string_list summary;      /* text: the rest of that line */
	struct object body;
	struct string_list findings;     /* findings as sentences */
	const char *verdict;      /* NULL: no verdict */
	struct table *reasons;    /* {code, message, evidence}: what makes the result unsound */
	bool partial;             /* there are reasons: the command exits with EXIT_PARTIAL */
	int error;
	size_t bytes;
	struct chunk *chunks;     /* chunks of the arena, newest first */
};

/* Copies the strings of `provenance`. Call report_release() even if this fails. */
void report_init(struct report *r, const struct provenance *provenance);
/* Frees the report. Accepts NULL and a zeroed report. */
void report_release(struct report *r);
/* Returns 0, or the first error while building: -ENOMEM, -E2BIG. */
int report_error(const struct report *r);

/* Notes an error of the builder, -errno, unless there is one already. */
void report_fail(struct report *r, int error);

/*
 * Sets the result's one sentence, of about 140 characters at most: "headline" of JSON, and the top
 * of the page. Text prints it first, or, without a title, as begin of its first line.
 * report_headline_said() is for text whose first lines say the same in a table: it stays without.
 */
void report_headline(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_headline_said(struct report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns whether the text's headline begins with a finding, which then needs no own line. */
bool report_headline_has(const struct report *r, const char *finding);
void report_title(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_summary(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_finding(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_verdict(struct report *r, const char *verdict);
/*
 * Adds a reason why the result is incomplete. `code` is for programs (kebab-case), the message for
 * people; `evidence` may be NULL. Makes the report partial; without another verdict, its verdict is
 * "partial".
 */
void report_reason(struct report *r, const char *code, const char *evidence, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * report_place_findings() sets the findings' position among the body's fields, ..._place_verdict()
 * that of the verdict and its reasons. Both may be added to later. Without a verdict, its place
 * stays empty.
 */
void report_place_findings(struct report *r);
void report_place_verdict(struct report *r);

struct object *object_new(struct report *r);
void object_add(struct object *o, const char *name, struct value v);
/* Returns the table in the field `name`; NULL: there is none. */
const struct table *object_table(const struct object *o, const char *name);

struct string_list *list_new(struct report *r);
void list_add(struct string_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns a new table without rows. Copies the columns, but not their strings. */
struct table *table_new(struct report *r, const struct column *columns, size_t n);
/* Adds a row of `n` values in the order of the columns; missing values are absent. */
void table_add(struct table *t, const struct value *values, size_t n);
/* Adds a row that could not be measured: the text replaces its absent cells. */
void table_add_note(struct table *t, const struct value *values, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define TABLE_ADD(t, ...) \
	table_add((t), (const struct value[]){ __VA_ARGS__ }, \
		  sizeof((const struct value[]){ __VA_ARGS__ }) / sizeof(struct value))

/* Returns quantiles with the bounds of their buckets; all unknown if the histogram is empty. */
struct value value_distribution(struct report *r, const struct hist *h);
/* The same, of a histogram in which each measured value stands for `one_in` values, or fewer. */
struct value value_distribution_sampled(struct report *r, const struct hist *h, uint64_t one_in);
/* Returns a plot, which is copied. */
struct value value_plot(struct report *r, const struct plot *plot);
/* Returns a formatted string, owned by the report; "" if the report has failed. */
const char *report_format(struct report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static inline struct value value_absent(void)
{
	return (struct value){ .type = VALUE_ABSENT };
}

static inline struct value value_null(void)
{
	return (struct value){ .type = VALUE_NULL };
}

static inline struct value value_bool(bool b)
{
	return (struct value){ .type = VALUE_BOOL, .boolean = b };
}

static inline struct value value_u64(uint64_t n)
{
	return (struct value){ .type = VALUE_U64, .u64 = n };
}

static inline struct value value_s64(int64_t n)
{
	return (struct value){ .type = VALUE_S64, .s64 = n };
}

static inline struct value value_ns(uint64_t ns)
{
	return (struct value){ .type = VALUE_NS, .u64 = ns };
}

static inline struct value value_known_ns(bool known, uint64_t ns)
{
	return known ? value_ns(ns) : value_null();
}

static inline struct value value_sns(int64_t ns)
{
	return (struct value){ .type = VALUE_SNS, .s64 = ns };
}

static inline struct value value_fraction(double f)
{
	return (struct value){ .type = VALUE_FRACTION, .fraction = f };
}

static inline struct value value_number(double x)
{
	return (struct value){ .type = __builtin_isfinite(x) ? VALUE_NUMBER : VALUE_NULL,
			       .number = x };
}

/* Returns a string as a value; NULL becomes null in JSON. */
static inline struct value value_string(const char *s)
{
	return (struct value){ .type = s ? VALUE_STRING : VALUE_NULL, .string = s };
}

static inline struct value value_object(struct object *o)
{
	return (struct value){ .type = o ? VALUE_OBJECT : VALUE_NULL, .object = o };
}

static inline struct value value_list(struct string_list *l)
{
	return (struct value){ .type = l ? VALUE_LIST : VALUE_NULL, .list = l };
}

/* Returns valid JSON as a value; `document` is borrowed: it must outlive the report. */
static inline struct value value_json(const char *document)
{
	return (struct value){ .type = VALUE_JSON, .string = document };
}

static inline struct value value_table(struct table *t)
{
	return (struct value){ .type = t ? VALUE_TABLE : VALUE_NULL, .table = t };
}

#endif
