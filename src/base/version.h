/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_VERSION_H
#define HOSTLAT_BASE_VERSION_H

/* "0.1.0": the project's version, as the build states it. */
const char *hostlat_version(void);

#endif
