/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_DESCRIPTORS_H
#define HOSTLAT_BASE_DESCRIPTORS_H

/* Raises this process' limit of file descriptors to its hard limit, if permitted. */
void descriptors_raise(void);

#endif
