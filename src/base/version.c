/* SPDX-License-Identifier: Apache-2.0 */
#include "base/version.h"

#include "config.h"

const char *hostlat_version(void)
{
	return HOSTLAT_VERSION;
}
