/* SPDX-License-Identifier: Apache-2.0 */
#include "host/throttled.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "host/mount.h"

#define GROUPS_MAX 65536

static int throttled_visit_groups(FTS *tree, uint64_t *times)
{
	static const char key[] = "nr_throttled ";
	const char *at;
	char text[1024];
	FTSENT *entry;
	size_t n = 0;

	while ((entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (++n > GROUPS_MAX)
			return -E2BIG;
		if (host_read(text, sizeof(text), "%s/cpu.stat", entry->fts_path) < 0)
			continue;
		at = strstr(text, key);
		if (at)
			*times += strtoull(at + strlen(key), NULL, 10);
	}
	return 0;
}

static int throttled_add_groups(char *folder, uint64_t *times)
{
	char *const roots[] = { folder, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR | FTS_XDEV, NULL);
	int err;

	if (!tree)
		return -errno;
	err = throttled_visit_groups(tree, times);
	fts_close(tree);
	return err;
}

int host_throttled(const struct host_root *root, uint64_t *times)
{
	char folder[HOST_PATH_MAX];
	int err = 0;

	*times = 0;
	if (!host_mount_point(root, "cgroup2", folder, sizeof(folder)))
		err = throttled_add_groups(folder, times);
	if (!err && !host_mount_point_with(root, "cgroup", "cpu", folder, sizeof(folder)))
		err = throttled_add_groups(folder, times);
	return err;
}
