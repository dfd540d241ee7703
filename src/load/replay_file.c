/* SPDX-License-Identifier: Apache-2.0 */
#include "load/replay_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/invoker.h"
#include "base/parse.h"

#define BUFFER_BYTES 65536
#define FIELDS_MAX 16
#define CACHE_FIELDS 7
#define SECONDS_DIGITS_MAX 10
#define FRACTION_DIGITS 9
#define NUMBER_MAX (1ULL << 40)
#define CSV_TAKES "time,method,path,headers,body"

struct replay_file {
	const char *path;
	int fd, error;   /* -errno of reading */
	enum replay_format format;
	char buffer[BUFFER_BYTES];
	size_t at, n;    /* position in `buffer`, bytes in it */
	uint64_t line;   /* number of the line of the next byte */
	uint64_t row_line;
	struct strbuf text; /* the row: its fields, each with a zero byte */
	struct replay_field fields[FIELDS_MAX];
	size_t from[FIELDS_MAX]; /* begin of each field in `text` */
	size_t n_fields;
	size_t columns;  /* number of columns of the header */
	int column_of[REPLAY_COLUMNS]; /* index of the field of each column; -1: missing */
	uint64_t origin_ns, last_ns;
	bool begun;      /* a row was read */
};

static int replay_file_fail(const struct replay_file *f, uint64_t line, const char *text,
			    struct strbuf *why)
{
	strbuf_printf(why, "%s:%llu: %s", f->path, (unsigned long long)line, text);
	return -EINVAL;
}

int replay_file_refuse(const struct replay_file *f, const struct replay_row *row,
		       const char *text, struct strbuf *why)
{
	return replay_file_fail(f, row->line, text, why);
}

/* ---- rows ---- */

#define END (-1)

static bool replay_file_fill(struct replay_file *f)
{
	ssize_t n;

	do
		n = read(f->fd, f->buffer, sizeof(f->buffer));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		f->error = -errno;
	f->at = 0;
	f->n = n > 0 ? (size_t)n : 0;
	return f->n > 0;
}

/* Returns the next byte without taking it; END: there is none. */
static int replay_file_peek(struct replay_file *f)
{
	if (f->at == f->n && !replay_file_fill(f))
		return END;
	return (unsigned char)f->buffer[f->at];
}

static int replay_file_byte(struct replay_file *f)
{
	const int c = replay_file_peek(f);

	f->at += c != END;
	f->line += c == '\n';
	return c;
}

static void replay_file_begin_row(struct replay_file *f)
{
	strbuf_reset(&f->text);
	f->n_fields = 0;
	f->row_line = f->line;
}

static int replay_file_begin_field(struct replay_file *f, struct strbuf *why)
{
	if (f->n_fields == FIELDS_MAX)
		return replay_file_fail(f, f->row_line, "the row has too many fields", why);
	f->from[f->n_fields++] = f->text.len;
	return 0;
}

static void replay_file_end_field(struct replay_file *f)
{
	struct replay_field *field = &f->fields[f->n_fields - 1];

	field->size = f->text.len - f->from[f->n_fields - 1];
	strbuf_putc(&f->text, '\0');
}

/* Sets the fields' texts, which no longer move. Returns 1, or an error. */
static int replay_file_end_row(struct replay_file *f, struct strbuf *why)
{
	if (f->error) {
		strbuf_printf(why, "%s: %s", f->path, strerror(-f->error));
		return f->error;
	}
	if (f->text.error == -E2BIG)
		return replay_file_fail(f, f->row_line, "the row has more than 64 MiB", why);
	if (f->text.error) {
		strbuf_printf(why, "%s: no memory for a row", f->path);
		return f->text.error;
	}
	for (size_t i = 0; i < f->n_fields; i++)
		f->fields[i].text = f->text.buf + f->from[i];
	return 1;
}

/* Reads the inside of a quoted field, whose quote has been taken. */
static int csv_read_quoted(struct replay_file *f, struct strbuf *why)
{
	for (;;) {
		const int c = replay_file_byte(f);

		if (c == END)
			return f->error ? 0 :
				replay_file_fail(f, f->row_line,
						 "a quoted field of this row has no end", why);
		if (c != '"') {
			strbuf_putc(&f->text, (char)c);
			continue;
		}
		if (replay_file_peek(f) != '"')
			break;
		strbuf_putc(&f->text, '"');
		f->at++;
	}
	if (replay_file_peek(f) == '\r')
		f->at++;
	if (replay_file_peek(f) != ',' && replay_file_peek(f) != '\n' &&
	    replay_file_peek(f) != END)
		return replay_file_fail(f, f->line, "a comma or the end of the line must follow "
					"the quote; write \"\" for a quote inside a field", why);
	return 0;
}

static int csv_read_plain(struct replay_file *f, struct strbuf *why)
{
	int c = replay_file_peek(f);

	for (; c != ',' && c != '\n' && c != END; c = replay_file_peek(f)) {
		f->at++;
		if (c == '"')
			return replay_file_fail(f, f->line, "a field that contains a quote must be "
						"in quotes, with \"\" for the quote", why);
		if (c == '\r' && (replay_file_peek(f) == '\n' || replay_file_peek(f) == END))
			continue;
		strbuf_putc(&f->text, (char)c);
	}
	return 0;
}

/* Skips empty lines. Returns whether a row follows. */
static bool replay_file_skip_empty(struct replay_file *f)
{
	int c;

	while ((c = replay_file_peek(f)) == '\n' || c == '\r')
		replay_file_byte(f);
	return c != END || f->error;
}

/* Reads a row of CSV. Returns 1, 0 at the end, or an error. */
static int csv_read_row(struct replay_file *f, struct strbuf *why)
{
	int c = ',', err = 0;

	if (!replay_file_skip_empty(f))
		return 0;
	replay_file_begin_row(f);
	while (!err && c == ',') {
		err = replay_file_begin_field(f, why);
		if (err)
			break;
		if (replay_file_peek(f) == '"') {
			f->at++;
			err = csv_read_quoted(f, why);
		} else {
			err = csv_read_plain(f, why);
		}
		replay_file_end_field(f);
		c = replay_file_byte(f);
	}
	return err ? err : replay_file_end_row(f, why);
}

/* Reads a line as the only field of a row. Returns 1, 0 at the end, or an error. */
static int line_read_row(struct replay_file *f, struct strbuf *why)
{
	int c, err;

	if (!replay_file_skip_empty(f))
		return 0;
	replay_file_begin_row(f);
	err = replay_file_begin_field(f, why);
	while ((c = replay_file_byte(f)) != '\n' && c != END)
		strbuf_putc(&f->text, (char)c);
	if (f->text.len && f->text.buf[f->text.len - 1] == '\r')
		strbuf_truncate(&f->text, f->text.len - 1);
	replay_file_end_field(f);
	return err ? err : replay_file_end_row(f, why);
}

/* ---- values ---- */

/* Parses seconds with a fraction; digits beyond nanoseconds are left out. */
static bool replay_parse_time(const struct replay_field *f, uint64_t *ns)
{
	const char *p = f->text;
	uint64_t seconds = 0, fraction = 0;
	int digits = 0;

	for (; parse_is_digit(*p); p++) {
		if (++digits > SECONDS_DIGITS_MAX)
			return false;
		seconds = seconds * 10 + (uint64_t)(*p - '0');
	}
	if (!digits)
		return false;
	digits = 0;
	if (*p == '.') {
		for (p++; parse_is_digit(*p); p++, digits++)
			fraction = digits < FRACTION_DIGITS ?
					   fraction * 10 + (uint64_t)(*p - '0') : fraction;
	}
	for (; digits < FRACTION_DIGITS; digits++)
		fraction *= 10;
	*ns = seconds * NS_PER_S + fraction;
	return p == f->text + f->size;
}

static bool replay_parse_number(const struct replay_field *f, uint64_t *out)
{
	return strlen(f->text) == f->size && !parse_u64(f->text, out) && *out <= NUMBER_MAX;
}

/* Sets the time of a row from its field. Returns 1, or an error. */
static int replay_file_set_time(struct replay_file *f, struct replay_row *row,
				const struct replay_field *field, struct strbuf *why)
{
	uint64_t ns;

	if (!replay_parse_time(field, &ns))
		return replay_file_refuse(f, row, "the time must be in seconds, such as 12.5 or "
						  "1700000000.25", why);
	if (!f->begun)
		f->origin_ns = f->last_ns = ns;
	f->begun = true;
	if (ns < f->last_ns)
		return replay_file_refuse(f, row, "the time is earlier than that of the row "
						  "before: sort the file by time", why);
	f->last_ns = ns;
	row->at_ns = ns - f->origin_ns;
	return 1;
}

/* ---- CSV of HTTP ---- */

enum { COLUMN_TIME, COLUMN_METHOD, COLUMN_PATH, COLUMN_HEADERS, COLUMN_BODY };

static const char *const column_names[REPLAY_COLUMNS] = {
	[COLUMN_TIME] = "time", [COLUMN_METHOD] = "method", [COLUMN_PATH] = "path",
	[COLUMN_HEADERS] = "headers", [COLUMN_BODY] = "body",
};

static int csv_read_header(struct replay_file *f, struct strbuf *why)
{
	int ret = csv_read_row(f, why);

	if (ret < 0)
		return ret;
	for (int k = 0; k < REPLAY_COLUMNS; k++)
		f->column_of[k] = -1;
	f->columns = f->n_fields;
	for (size_t i = 0; i < f->n_fields; i++) {
		int k = 0;

		while (k < REPLAY_COLUMNS && strcasecmp(f->fields[i].text, column_names[k]) != 0)
			k++;
		if (k == REPLAY_COLUMNS || f->column_of[k] >= 0)
			return replay_file_fail(f, f->row_line, "the columns must be of "
						CSV_TAKES ", each once", why);
		f->column_of[k] = (int)i;
	}
	for (int k = 0; k <= COLUMN_PATH; k++) {
		if (f->column_of[k] < 0)
			return replay_file_fail(f, f->row_line, "the columns time, method and path "
						"must not be missing", why);
	}
	return 0;
}

static struct replay_field csv_field(const struct replay_file *f, int column)
{
	static char empty[1];

	return f->column_of[column] < 0 ? (struct replay_field){ empty, 0 } :
					  f->fields[f->column_of[column]];
}

static int csv_next(struct replay_file *f, struct replay_row *row, struct strbuf *why)
{
	struct replay_field time;
	int ret = csv_read_row(f, why);

	if (ret <= 0)
		return ret;
	*row = (struct replay_row){ .line = f->row_line };
	if (f->n_fields != f->columns)
		return replay_file_refuse(f, row, "the row has another number of fields than the "
						  "header", why);
	row->method = csv_field(f, COLUMN_METHOD);
	row->path = csv_field(f, COLUMN_PATH);
	row->headers = csv_field(f, COLUMN_HEADERS);
	row->body = csv_field(f, COLUMN_BODY);
	time = csv_field(f, COLUMN_TIME);
	return replay_file_set_time(f, row, &time, why);
}

/* ---- cache-trace ---- */

/*
 * Splits a line into its fields, from both ends: a key may contain commas. Returns false if there
 * are too few.
 */
static bool cache_split(struct replay_field *line, struct replay_field out[CACHE_FIELDS])
{
	char *end = line->text + line->size, *comma = memchr(line->text, ',', line->size);

	if (!comma)
		return false;
	out[0] = (struct replay_field){ line->text, (size_t)(comma - line->text) };
	*comma++ = '\0';
	for (int i = CACHE_FIELDS - 1; i > 1; i--) {
		char *from = memrchr(comma, ',', (size_t)(end - comma));

		if (!from)
			return false;
		out[i] = (struct replay_field){ from + 1, (size_t)(end - from - 1) };
		*from = '\0';
		end = from;
	}
	out[1] = (struct replay_field){ comma, (size_t)(end - comma) };
	return true;
}

static int cache_next(struct replay_file *f, struct replay_row *row, struct strbuf *why)
{
	struct replay_field fields[CACHE_FIELDS] = { 0 };
	uint64_t unused;
	int ret = line_read_row(f, why);

	if (ret <= 0)
		return ret;
	*row = (struct replay_row){ .line = f->row_line };
	if (!cache_split(&f->fields[0], fields))
		return replay_file_refuse(f, row, "a row of cache-trace has timestamp,key,"
						  "key size,value size,client id,operation,TTL",
					  why);
	row->key = fields[1];
	row->operation = fields[5];
	if (!replay_parse_number(&fields[0], &unused))
		return replay_file_refuse(f, row, "the timestamp must be in whole seconds", why);
	if (!replay_parse_number(&fields[3], &row->value_size) ||
	    !replay_parse_number(&fields[6], &row->ttl_s))
		return replay_file_refuse(f, row, "value size and TTL must be whole numbers", why);
	return replay_file_set_time(f, row, &fields[0], why);
}

/* ---- any file ---- */

/* Returns the format that the first bytes of a file show. */
static enum replay_format replay_file_detect(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);
	const size_t line = end ? (size_t)(end - text) : size;
	size_t digits = 0;

	for (size_t i = 0; i < REPLAY_COLUMNS; i++) {
		const size_t n = strlen(column_names[i]), quote = line && *text == '"';

		if (line > n + quote && !strncasecmp(text + quote, column_names[i], n))
			return REPLAY_HTTP;
	}
	while (digits < line && parse_is_digit(text[digits]))
		digits++;
	return digits && digits < line && text[digits] == ',' ? REPLAY_CACHE : REPLAY_NONE;
}

/*
 * Opens the file, skips a byte order mark and detects the format. Returns 0 or -errno; -ESPIPE: the
 * file cannot be read again, as times and requests are.
 */
static int replay_file_start(struct replay_file *f, const char *path)
{
	struct stat st;

	strbuf_init(&f->text, REPLAY_ROW_MAX);
	f->path = path;
	f->line = 1;
	/* Opening a pipe would otherwise wait for its writer. */
	f->fd = invoker_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ESPIPE;
	replay_file_fill(f);
	if (f->n >= 3 && !memcmp(f->buffer, "\xef\xbb\xbf", 3))
		f->at = 3;
	f->format = replay_file_detect(f->buffer + f->at, f->n - f->at);
	return f->error;
}

bool replay_file_is(const char *path)
{
	struct replay_file *f = calloc(1, sizeof(*f));
	const bool is = f && !replay_file_start(f, path) && f->format != REPLAY_NONE;

	replay_file_close(f);
	return is;
}

int replay_file_open(struct replay_file **out, const char *path, struct strbuf *why)
{
	struct replay_file *f = calloc(1, sizeof(*f));
	int err = f ? replay_file_start(f, path) : -ENOMEM;

	*out = NULL;
	if (err == -ESPIPE) {
		strbuf_printf(why, "%s: recorded requests need a regular file, since they are read "
			      "several times", path);
		err = -EINVAL;
	} else if (err) {
		strbuf_printf(why, "%s: %s", path, strerror(-err));
	} else if (f->format == REPLAY_NONE) {
		err = replay_file_fail(f, 1, "the first line must be the header " CSV_TAKES
				       ", or a row of cache-trace", why);
	} else if (f->format == REPLAY_HTTP) {
		err = csv_read_header(f, why);
	}
	if (err)
		replay_file_close(f);
	else
		*out = f;
	return err;
}

void replay_file_close(struct replay_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	strbuf_release(&f->text);
	free(f);
}

enum replay_format replay_file_format(const struct replay_file *f)
{
	return f->format;
}

int replay_file_next(struct replay_file *f, struct replay_row *row, struct strbuf *why)
{
	return f->format == REPLAY_HTTP ? csv_next(f, row, why) : cache_next(f, row, why);
}
