/* SPDX-License-Identifier: Apache-2.0 */
#include "base/invoker.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/parse.h"

/* UINT32_MAX means "no user" to the kernel. */
static bool read_id(const char *variable, uint64_t *id)
{
	const char *text = getenv(variable);

	return text && !parse_u64(text, id) && *id < UINT32_MAX;
}

bool invoker_find(struct invoker *invoker)
{
	uint64_t uid, gid;

	if (geteuid() || !read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid) || !uid)
		return false;
	*invoker = (struct invoker){ .uid = (uid_t)uid, .gid = (gid_t)gid };
	return true;
}
