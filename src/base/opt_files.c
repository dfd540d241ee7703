/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt_files.h"

#include <string.h>
#include <unistd.h>

#include "base/outfile.h"

/* Returns file `i` of the option, or NULL behind the last one. */
static const char *files_of(const struct opt_slot *slot, const char *config, uint32_t i)
{
	const void *member = config + slot->offset;
	const struct opt_list *list = member;
	const struct opt_files *files = member;

	switch (slot->row->file ? slot->row->type : OPT_TYPE_FLAG) {
	case OPT_TYPE_STRING:
		return i ? NULL : *(const char *const *)member;
	case OPT_TYPE_LIST:
		return i < list->len ? list->items[i] : NULL;
	case OPT_TYPE_FILES:
		return i < files->len ? files->items[i] : NULL;
	default:
		return NULL;
	}
}

/* Returns a file of the option that is this output, or NULL. */
static const char *files_find(const struct opt_slot *slot, const char *config, const char *output)
{
	const char *path;

	for (uint32_t i = 0; (path = files_of(slot, config, i)); i++)
		if (strcmp(path, "-") != 0 && !access(path, F_OK) && outfile_same(path, output))
			return path;
	return NULL;
}

static const char *files_written_to(const struct opt_table *table, const char *config,
				    const char *output)
{
	const char *path = NULL;

	for (uint32_t i = 0; i < table->len && !path; i++)
		if (table->slots[i].row->group != OPT_OUTPUT)
			path = files_find(&table->slots[i], config, output);
	return path;
}

const char *opt_files_clash(const struct opt_table *table, const void *config)
{
	const char *output, *path = NULL;

	for (uint32_t i = 0; i < table->len && !path; i++) {
		output = files_of(&table->slots[i], config, 0);
		if (output && table->slots[i].row->group == OPT_OUTPUT)
			path = files_written_to(table, config, output);
	}
	return path;
}
