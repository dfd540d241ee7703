/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as tables of --topology and --apps: the first byte says where the text is cut into two
 * tables of the topology. Refused with a reason, or else every question has an answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "fleet/apps.h"
#include "fleet/topology.h"

#define WHY_MAX (1 << 20)

static const char *const names[] = { "a", "b", "r", "s", NULL };

static void check_path(const struct topology *t, const char *from, const char *to)
{
	struct topology_path path;

	if (!from)
		return;
	topology_path(t, from, to, &path);
	BUG_ON(path.n > FLEET_SHARES_MAX);
	for (uint32_t i = 0; i < path.n; i++)
		for (uint32_t k = 0; k < i; k++)
			BUG_ON(path.shares[i].kind == path.shares[k].kind &&
			       !strcmp(path.shares[i].name, path.shares[k].name));
}

static void check_topology(const struct topology *t, const uint8_t *data, size_t size)
{
	uint8_t bytes[16] = { 0 };
	struct fleet_address address;

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	address = addresses_whole(size & 1 ? 2 : 10, bytes);
	topology_host_of(t, &address);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			check_path(t, names[i], names[k]);
	BUG_ON(topology_host(t, "a").rack && !topology_has_racks(t));
}

static int read_part(struct topology *t, const uint8_t *data, size_t size, struct strbuf *why)
{
	char *text = malloc(size + 1);
	int err;

	BUG_ON(!text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = topology_read(t, "file", text, size, why);
	free(text);
	return err;
}

static void fuzz_topology(const uint8_t *data, size_t size, size_t cut)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	struct topology *t = topology_new();
	int err;

	BUG_ON(!t);
	err = read_part(t, data, cut, &why);
	if (!err && cut < size)
		err = read_part(t, data + cut, size - cut, &why);
	if (!err)
		err = topology_finish(t, &why);
	BUG_ON((err == -EINVAL) != (why.len != 0));
	for (size_t i = 0; i < why.len; i++)
		BUG_ON((unsigned char)why.buf[i] < 0x20);
	if (!err)
		check_topology(t, data, size);
	topology_free(t);
	strbuf_release(&why);
}

static void fuzz_apps(const uint8_t *data, size_t size)
{
	const struct apps_subject subject = { .text = { "unit", "/a/b", "docker a", "comm" },
					      .port = 80 };
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	struct apps *a = apps_new();
	char *text = malloc(size + 1);
	int err;

	BUG_ON(!a || !text);
	memcpy(text, data, size);
	text[size] = '\0';
	err = apps_read(a, "file", text, size, &why);
	BUG_ON((err == -EINVAL) != (why.len != 0));
	if (!err)
		apps_find(a, &subject);
	apps_free(a);
	strbuf_release(&why);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t rest = size ? size - 1 : 0;
	const uint8_t *text = size ? data + 1 : data;
	const size_t cut = size ? rest * data[0] / 255 : 0;

	fuzz_topology(text, rest, cut);
	fuzz_apps(text, rest);
	return 0;
}
