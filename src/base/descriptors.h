/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_DESCRIPTORS_H
#define HOSTLAT_BASE_DESCRIPTORS_H

/* Lets this process have as many file descriptors as its hard limit allows, if it can. */
void descriptors_raise(void);

#endif
