/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptors.h"

#include <sys/resource.h>

void descriptors_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
