/* SPDX-License-Identifier: Apache-2.0 */
#include "host/kconfig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define LINES_MAX 100000        /* lines of a kernel configuration; usually about 12000 */

/* Opens the configuration: gzopen() also reads plain files. */
static gzFile kconfig_open(const struct host_root *root)
{
	char path[HOST_PATH_MAX], release[128];
	gzFile file;

	snprintf(path, sizeof(path), "%s/config.gz", root->proc);
	file = gzopen(path, "rbe");
	if (file)
		return file;
	if (host_read(release, sizeof(release), "%s/sys/kernel/osrelease", root->proc) < 0)
		return NULL;
	snprintf(path, sizeof(path), "%s/config-%s", root->boot, release);
	return gzopen(path, "rbe");
}

int host_kconfig(const struct host_root *root, const char *option, char *value, size_t size)
{
	char line[512];
	size_t n = strlen(option);
	gzFile file;

	file = kconfig_open(host_root_or_live(root));
	if (!file)
		return -ENOENT;
	snprintf(value, size, "n");
	for (int i = 0; i < LINES_MAX && gzgets(file, line, sizeof(line)); i++) {
		if (strncmp(line, option, n) || line[n] != '=')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, size, "%s", line + n + 1);
		break;
	}
	gzclose_r(file);
	return 0;
}
