/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lockdown.h"

#include <string.h>
#include <unistd.h>

#include "host/mount.h"

int host_lockdown(const struct host_root *root, char *value, size_t size)
{
	int dir = host_mount_open(root, "securityfs"), n;

	if (dir < 0)
		return dir;
	n = host_read_at(dir, "lockdown", value, size);
	close(dir);
	return n;
}

bool host_is_confidential(const struct host_root *root)
{
	char value[64];

	return host_lockdown(root, value, sizeof(value)) > 0 && strstr(value, "[confidentiality]");
}
