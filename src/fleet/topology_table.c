/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tables of a topology. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/utf8.h"
#include "fleet/csv.h"
#include "fleet/json_rows.h"
#include "fleet/topology_state.h"

enum topology_column {
	COLUMN_HOST, COLUMN_RACK, COLUMN_INSTANCE, COLUMN_ADDRESSES, COLUMN_SWITCH, COLUMN_FROM,
	COLUMN_TO, COLUMN_LINK, COLUMNS,
};

static const char *const column_names[COLUMNS] = {
	"host", "rack", "instance", "addresses", "switch", "from", "to", "link",
};

#define COLUMN_BIT(column) (1u << (column))

/* A table that is being read. */
struct topology_table {
	struct topology *t;
	const char *name;
	uint32_t file;
	struct csv csv;
	struct csv_row row;
	uint32_t at[COLUMNS];          /* by column: its field + 1; 0: the table lacks it */
	uint32_t n;                    /* fields of the header */
	struct strbuf *why;
};

struct topology_table_kind {
	const char *name;              /* name of its list in JSON */
	uint32_t may, must;            /* masks of columns */
	int (*read)(struct topology_table *r);
};

/* ---- errors ---- */

static int topology_table_fail_at(struct topology_table *r, uint32_t line, uint32_t column)
{
	strbuf_printf(r->why, "%s:%" PRIu32 ":%" PRIu32 ": ", r->name, line, column);
	return -EINVAL;
}

static int topology_table_fail(struct topology_table *r, const struct csv_field *field)
{
	return topology_table_fail_at(r, field->line, field->column);
}

static void topology_table_put_place(struct topology_table *r, const struct topology_place *place)
{
	strbuf_printf(r->why, "%s:%" PRIu32, r->t->files.items[place->file], place->line);
}

static struct topology_place topology_table_place(const struct topology_table *r,
					 const struct csv_field *field)
{
	return (struct topology_place){ r->file, field->line, field->column };
}

/* ---- fields ---- */

static struct csv_field *topology_table_field(struct topology_table *r, enum topology_column column)
{
	return r->at[column] ? &r->row.fields[r->at[column] - 1] : NULL;
}

static bool topology_table_is_visible(const char *text)
{
	for (size_t len; *text; text += len)
		if (!utf8_is_visible(utf8_next(text, &len)))
			return false;
	return true;
}

/* Checks a name: at most 255 bytes, nothing invisible, not empty if it must be there. */
static int topology_table_check_name(struct topology_table *r, const struct csv_field *field,
			    enum topology_column column, bool must)
{
	const char *name = column_names[column];

	if (must && !*field->text) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "the %s is missing (each row needs one)", name);
	} else if (strlen(field->text) > TOPOLOGY_NAME_MAX) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "the %s has %zu bytes (give at most %u)", name,
			      strlen(field->text), TOPOLOGY_NAME_MAX);
	} else if (!topology_table_is_visible(field->text)) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "the %s has a control character or bytes that are not UTF-8 "
			      "(remove them)", name);
	} else {
		return 0;
	}
	return -EINVAL;
}

/* Sets *node to the node that a column names, with this role; FLEET_NONE if it is empty. */
static int topology_table_node(struct topology_table *r, enum topology_column column, uint32_t role,
			       bool must, uint32_t *node)
{
	const struct csv_field *field = topology_table_field(r, column);
	struct topology_node *n;
	int err;

	*node = FLEET_NONE;
	if (!field)
		return 0;
	err = topology_table_check_name(r, field, column, must);
	if (err || !*field->text)
		return err;
	err = topology_node_get(r->t, field->text, node);
	if (err)
		return err;
	n = &r->t->nodes.items[*node];
	if (!n->roles)
		n->place = topology_table_place(r, field);
	n->roles |= role;
	return 0;
}

/* ---- host,rack,instance,addresses ---- */

static int topology_table_read_address(struct topology_table *r, const struct csv_field *field,
			      const char *word, uint32_t host)
{
	struct fleet_address address;
	uint32_t other;
	int err = addresses_parse(word, &address);

	if (err) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "'%s' is no address (write 10.0.0.1 or fd00::1, or a prefix "
			      "without bits behind it, such as 10.1.0.0/16)", word);
		return err;
	}
	err = addresses_add(&r->t->addresses, &address, host, false, &other);
	if (err == -EEXIST) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "address %s is also one of host '%s' (an address belongs to "
			      "one host)", word, r->t->nodes.items[other].name);
		return -EINVAL;
	}
	return err;
}

static int topology_table_read_addresses(struct topology_table *r, uint32_t host)
{
	struct csv_field *field = topology_table_field(r, COLUMN_ADDRESSES);
	char *rest = field ? field->text : NULL;
	int err = 0;

	for (char *word; !err && rest && (word = strsep(&rest, " \t\r\n"));) {
		if (!topology_table_is_visible(word)) {
			topology_table_fail(r, field);
			strbuf_puts(r->why, "addresses with a control character (remove it)");
			return -EINVAL;
		}
		if (*word)
			err = topology_table_read_address(r, field, word, host);
	}
	return err;
}

static int topology_table_read_instance(struct topology_table *r, uint32_t host)
{
	const struct csv_field *field = topology_table_field(r, COLUMN_INSTANCE);
	int err = field ? topology_table_check_name(r, field, COLUMN_INSTANCE, false) : 0;
	char *copy;

	if (err || !field || !*field->text)
		return err;
	copy = strdup(field->text);
	r->t->nodes.items[host].instance = copy;
	return copy ? 0 : -ENOMEM;
}

static int topology_table_read_host(struct topology_table *r)
{
	const struct csv_field *field = topology_table_field(r, COLUMN_HOST);
	struct topology_node *node = topology_find(r->t, field->text);
	uint32_t host, rack;
	int err;

	if (node && node->roles & ROLE_HOST) {
		topology_table_fail(r, field);
		strbuf_printf(r->why, "host '%s' has a row already, ", field->text);
		topology_table_put_place(r, &node->place);
		strbuf_puts(r->why, " (keep one)");
		return -EINVAL;
	}
	err = topology_table_node(r, COLUMN_HOST, ROLE_HOST, true, &host);
	if (err)
		return err;
	r->t->nodes.items[host].place = topology_table_place(r, field);
	err = topology_table_node(r, COLUMN_RACK, ROLE_RACK, false, &rack);
	if (err)
		return err;
	r->t->nodes.items[host].rack = rack == FLEET_NONE ? 0 : rack + 1;
	err = topology_table_read_instance(r, host);
	return err ? err : topology_table_read_addresses(r, host);
}

/* ---- rack,switch ---- */

static int topology_table_read_switch(struct topology_table *r)
{
	uint32_t below, above;
	int err = topology_table_node(r, COLUMN_RACK, ROLE_BELOW, true, &below);

	if (!err)
		err = topology_table_node(r, COLUMN_SWITCH, ROLE_ABOVE, true, &above);
	return err ? err : vec_push(&r->t->above, (struct topology_edge){
		.below = below, .above = above,
		.place = topology_table_place(r, topology_table_field(r, COLUMN_RACK)) });
}

/* ---- from,to,link ---- */

static int topology_table_read_link(struct topology_table *r)
{
	const struct csv_field *field = topology_table_field(r, COLUMN_LINK);
	uint32_t from, to;
	char *name;
	int err = topology_table_node(r, COLUMN_FROM, ROLE_END, true, &from);

	if (!err)
		err = topology_table_node(r, COLUMN_TO, ROLE_END, true, &to);
	if (!err)
		err = topology_table_check_name(r, field, COLUMN_LINK, true);
	if (err)
		return err;
	if (from == to) {
		topology_table_fail(r, field);
		strbuf_puts(r->why, "a link from a place to itself (name its two ends)");
		return -EINVAL;
	}
	name = strdup(field->text);
	err = name ? vec_push(&r->t->links, (struct topology_link){
		.a = from < to ? from : to, .b = from < to ? to : from, .name = name,
		.place = topology_table_place(r, topology_table_field(r, COLUMN_FROM)) }) : -ENOMEM;
	if (err)
		free(name);
	return err;
}

/* ---- tables ---- */

static const struct topology_table_kind kinds[] = {
	{ .name = "hosts",
	  .may = COLUMN_BIT(COLUMN_HOST) | COLUMN_BIT(COLUMN_RACK) | COLUMN_BIT(COLUMN_INSTANCE) |
		 COLUMN_BIT(COLUMN_ADDRESSES),
	  .must = COLUMN_BIT(COLUMN_HOST), .read = topology_table_read_host },
	{ .name = "switches",
	  .may = COLUMN_BIT(COLUMN_RACK) | COLUMN_BIT(COLUMN_SWITCH),
	  .must = COLUMN_BIT(COLUMN_RACK) | COLUMN_BIT(COLUMN_SWITCH),
	  .read = topology_table_read_switch },
	{ .name = "links",
	  .may = COLUMN_BIT(COLUMN_FROM) | COLUMN_BIT(COLUMN_TO) | COLUMN_BIT(COLUMN_LINK),
	  .must = COLUMN_BIT(COLUMN_FROM) | COLUMN_BIT(COLUMN_TO) | COLUMN_BIT(COLUMN_LINK),
	  .read = topology_table_read_link },
};

#define TABLES "write host,rack,instance,addresses or rack,switch or from,to,link"

/* Notes that field i of a row has the column of this name. */
static int topology_table_read_column(struct topology_table *r, const struct csv_field *name,
				      uint32_t i)
{
	unsigned int column = 0;

	while (column < COLUMNS && strcmp(column_names[column], name->text) != 0)
		column++;
	if (column == COLUMNS) {
		topology_table_fail(r, name);
		strbuf_puts(r->why, "unknown column '");
		utf8_put_clean(r->why, name->text);
		strbuf_puts(r->why, "' (" TABLES ")");
		return -EINVAL;
	}
	if (r->at[column]) {
		topology_table_fail(r, name);
		strbuf_printf(r->why, "column '%s' is given twice (keep one)", name->text);
		return -EINVAL;
	}
	r->at[column] = i + 1;
	return 0;
}

/* Returns the kind of table that has these columns, or NULL with *err. */
static const struct topology_table_kind *topology_table_read_columns(struct topology_table *r,
								     const struct csv_field *names,
								     uint32_t n, int *err)
{
	uint32_t columns = 0;

	r->n = n;
	memset(r->at, 0, sizeof(r->at));
	*err = 0;
	for (uint32_t i = 0; i < n && !*err; i++)
		*err = topology_table_read_column(r, &names[i], i);
	for (unsigned int i = 0; i < COLUMNS; i++)
		columns |= r->at[i] ? COLUMN_BIT(i) : 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !*err; i++)
		if (!(columns & ~kinds[i].may) && !(kinds[i].must & ~columns))
			return &kinds[i];
	return NULL;
}

static int topology_table_fail_kind(struct topology_table *r, const struct csv_field *field)
{
	topology_table_fail(r, field);
	strbuf_puts(r->why, "these columns make no table (" TABLES ")");
	return -EINVAL;
}

/* Reads the header; returns the kind of table, or NULL with *err. */
static const struct topology_table_kind *topology_table_read_header(struct topology_table *r,
								    int *err)
{
	const struct topology_table_kind *kind;

	*err = csv_next_row(&r->csv, &r->row);
	if (*err <= 0)
		return NULL;
	kind = topology_table_read_columns(r, r->row.fields, r->row.n, err);
	if (!kind && !*err)
		*err = topology_table_fail_kind(r, &r->row.fields[0]);
	return kind;
}

/* Reads a row that begins at `begin`. */
static int topology_table_read_row(struct topology_table *r, const struct topology_table_kind *kind,
				   const struct csv_field *begin)
{
	if (r->row.n != r->n) {
		topology_table_fail(r, &r->row.fields[r->row.n > r->n ? r->n : 0]);
		strbuf_printf(r->why, "fields: %" PRIu32 ", but %" PRIu32 " in the header "
			      "(a field with a comma needs quotes)", r->row.n, r->n);
		return -EINVAL;
	}
	if (r->t->rows++ == TOPOLOGY_ROWS_MAX) {
		topology_table_fail(r, begin);
		strbuf_printf(r->why, "more than %u rows in all (leave out hosts without a "
			      "recording)", TOPOLOGY_ROWS_MAX);
		return -EINVAL;
	}
	return kind->read(r);
}

static int topology_table_read_csv(struct topology_table *r)
{
	const struct topology_table_kind *kind;
	int err;

	kind = topology_table_read_header(r, &err);
	if (!kind && !err) {
		topology_table_fail_at(r, 1, 1);
		strbuf_puts(r->why, "the file is empty (" TABLES ")");
		return -EINVAL;
	}
	while (kind && (err = csv_next_row(&r->csv, &r->row)) > 0) {
		err = topology_table_read_row(r, kind, &r->row.fields[0]);
		if (err)
			break;
	}
	return err;
}

/* Refuses a list of names: only addresses are several. */
static int topology_table_check_lists(struct topology_table *r, const struct json_rows *rows)
{
	const uint32_t may = r->at[COLUMN_ADDRESSES];
	const uint32_t wrong = rows->lists & ~(may ? 1u << (may - 1) : 0);

	if (!wrong)
		return 0;
	topology_table_fail(r, &rows->row.fields[__builtin_ctz(wrong)]);
	strbuf_puts(r->why, "a list in place of a name (write a string; only addresses are a "
		    "list)");
	return -EINVAL;
}

/* Reads an object of JSON: its fields say which table it is a row of. */
static int topology_table_read_object(struct topology_table *r, const struct json_rows *rows)
{
	const struct topology_table_kind *kind;
	int err;

	r->row = rows->row;
	kind = topology_table_read_columns(r, rows->names, rows->row.n, &err);
	if (err)
		return err;
	if (!kind || (rows->table != JSON_ROWS_NO_TABLE && kind != &kinds[rows->table]))
		return topology_table_fail_kind(r, &rows->brace);
	err = topology_table_check_lists(r, rows);
	return err ? err : topology_table_read_row(r, kind, &rows->brace);
}

static int topology_table_read_json(struct topology_table *r)
{
	const char *const names[] = { kinds[0].name, kinds[1].name, kinds[2].name };
	struct json_rows rows;
	int err;

	json_rows_init(&rows, &r->csv, names, ARRAY_LEN(names));
	while ((err = json_rows_next(&rows)) > 0) {
		err = topology_table_read_object(r, &rows);
		if (err)
			break;
	}
	return err;
}

static int topology_table_read_rows(struct topology_table *r)
{
	int err = json_rows_is_json(&r->csv) ? topology_table_read_json(r) :
					       topology_table_read_csv(r);

	if (err == -EINVAL && r->csv.why) {
		topology_table_fail_at(r, r->csv.line, r->csv.column);
		strbuf_puts(r->why, r->csv.why);
	}
	return err;
}

int topology_read(struct topology *t, const char *file, char *text, size_t len, struct strbuf *why)
{
	struct topology_table r = { .t = t, .file = (uint32_t)t->files.len, .why = why };
	char *copy = strdup(file);
	int err = copy ? vec_push(&t->files, copy) : -ENOMEM;

	if (err) {
		free(copy);
		return -ENOMEM;
	}
	r.name = copy;
	csv_init(&r.csv, text, len);
	err = topology_table_read_rows(&r);
	if (err == -E2BIG) {
		strbuf_printf(why, "%s: too many names", file);
		return -EINVAL;
	}
	return err;
}
