/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_VERSION_H
#define HOSTLAT_BASE_VERSION_H

/* Returns the project's version as the build defines it, e.g. "0.1.0". */
const char *hostlat_version(void);

#endif
