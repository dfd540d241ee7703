/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define ENTRY_BYTES 16
#define NAMES_MAX (64UL << 20)

struct symbol {
	uint64_t address;
	uint32_t name;	/* offset in symbols.names */
};

struct symbols {
	struct symbol_vec VEC_OF(struct symbol) list;	/* sorted by address */
	struct strbuf names;
};

static int symbols_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

/* Adds a line such as "ffffffff81000000 T name\t[module]". Returns 0 or -errno. */
static int symbols_add(struct symbols *s, char *line)
{
	char type = '\0', name[512];
	struct symbol symbol = { .name = (uint32_t)s->names.len };

	if (sscanf(line, "%" SCNx64 " %c %511s", &symbol.address, &type, name) != 3 ||
	    !strchr("tTwW", type) || !symbol.address)
		return 0;
	strbuf_add(&s->names, name, strlen(name) + 1);
	return s->names.error ? s->names.error : vec_push(&s->list, symbol);
}

static int symbols_read_all(struct symbols *s, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	char *line = NULL;
	int err = 0;

	if (!file)
		return -errno;
	while (!err && getline(&line, &room, file) > 0)
		err = symbols_add(s, line);
	free(line);
	fclose(file);
	if (!err && !s->list.len)
		err = -EPERM;
	return err;
}

int symbols_read(struct symbols **out, const char *path)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	vec_init(&s->list, SYMBOLS_MAX);
	strbuf_init(&s->names, NAMES_MAX);
	err = symbols_read_all(s, path);
	if (err) {
		symbols_free(s);
		return err;
	}
	qsort(s->list.items, s->list.len, sizeof(*s->list.items), symbols_order);
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	vec_release(&s->list);
	strbuf_release(&s->names);
	free(s);
}

const char *symbols_name(const struct symbols *s, uint64_t address)
{
	size_t lo = sort_first(i, 0, s->list.len, s->list.items[i].address > address);

	if (!lo || address - s->list.items[lo - 1].address > ENTRY_BYTES)
		return NULL;
	address = s->list.items[--lo].address;
	while (lo && s->list.items[lo - 1].address == address)
		lo--; /* several symbols at this address: take the first */
	return strbuf_str(&s->names) + s->list.items[lo].name;
}
