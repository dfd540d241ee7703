/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat fleet export: the store's rows of connections as CSV (RFC 4180), the latest versions. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/csv_field.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/folder.h"
#include "cmd/fleet_stored_each.h"

#define FLUSH_BYTES 65536u
#define ROW_BYTES_MAX (64u << 20)

struct export {
	struct outfile file;
	struct strbuf text;
	int error;
};

/* ---- CSV ---- */

static void export_put_head(struct strbuf *out)
{
	const struct store_table *table = &store_connections;

	for (unsigned int i = 0; i < table->n; i++)
		strbuf_printf(out, "%s%s", i ? "," : "", table->columns[i].name);
	strbuf_puts(out, "\r\n");
}

static int export_flush(struct export *e)
{
	int err = e->text.error;

	if (!err)
		err = outfile_write(&e->file, strbuf_str(&e->text), e->text.len);
	strbuf_reset(&e->text);
	e->error = err;
	return err;
}

/* A fleet_stored_fn. */
static int export_row(void *ctx, struct stored_window *window, const struct store_connection *row)
{
	const struct store_table *table = &store_connections;
	struct export *e = ctx;

	(void)window;
	for (unsigned int i = 0; i < table->n; i++) {
		const struct store_column *column = &table->columns[i];

		if (i)
			strbuf_putc(&e->text, ',');
		if (column->type == STORE_U64)
			strbuf_printf(&e->text, "%" PRIu64, store_u64(column, row));
		else
			csv_field_put(&e->text, store_text(column, row));
	}
	strbuf_puts(&e->text, "\r\n");
	return e->text.len < FLUSH_BYTES && !e->text.error ? 0 : export_flush(e);
}

/* ---- the command ---- */

static int export_rows(struct export *e, struct fleet_stored *s)
{
	int err;

	export_put_head(&e->text);
	err = fleet_stored_each(s, export_row, e);
	if (!err)
		err = export_flush(e);
	if (!err)
		err = e->error = outfile_commit(&e->file);
	return err;
}

static void export_tell_moved(const struct fleet_stored *s)
{
	struct strbuf text = STRBUF_INIT(ROW_BYTES_MAX);

	fleet_stored_moved(s, &text);
	if (text.len)
		log_info("%s", strbuf_str(&text));
	strbuf_release(&text);
}

/* Reports what the file lacks: the exit code of a partial result. */
static int export_missing(const struct fleet_stored *s)
{
	if (s->unreachable)
		log_warning("servers of the store could not be reached, so that their rows are "
			    "missing: %s", s->unreachable);
	if (s->incomplete)
		log_warning("%" PRIu64 " windows are incomplete, the first of host %s",
			    s->incomplete, s->first_incomplete);
	if (s->other_step)
		log_warning("%" PRIu64 " windows in other steps than --step are left out",
			    s->other_step);
	if (s->overlapping)
		log_warning("%" PRIu64 " windows are left out: their hosts have two recordings of "
			    "that time", s->overlapping);
	if (s->invalid)
		log_warning("%" PRIu64 " windows are left out: their values are impossible",
			    s->invalid);
	return s->unreachable || s->incomplete || s->other_step || s->overlapping || s->invalid ?
		       EXIT_PARTIAL : EXIT_OK;
}

static int export_found(const struct fleet_config *c, struct fleet_stored *s)
{
	struct export e = { .text = STRBUF_INIT(ROW_BYTES_MAX) };
	int err = outfile_open(&e.file, c->common.output);

	e.error = err;
	if (!err)
		err = export_rows(&e, s);
	if (err && err == e.error)
		log_error("cannot write %s: %s", c->common.output ?: "standard output",
			  folder_strerror(err));
	else if (err)
		log_error("%s", err == -ENOMEM ? "out of memory" : store_why(s->store));
	outfile_release(&e.file);
	strbuf_release(&e.text);
	return err ? EXIT_CANNOT : export_missing(s);
}

int fleet_run_export(const struct fleet_config *c, struct fleet_inputs *in)
{
	struct fleet_stored stored;
	int code = fleet_stored_find(c, in, &stored);

	if (code == EXIT_OK) {
		export_tell_moved(&stored);
		code = export_found(c, &stored);
	}
	fleet_stored_release(&stored);
	return code;
}
