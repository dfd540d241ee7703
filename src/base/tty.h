/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_TTY_H
#define HOSTLAT_BASE_TTY_H

#include <stdbool.h>

/*
 * Whether `fd` is a terminal that obeys escape sequences: colours, and a cursor that moves. One
 * that says that it is dumb (TERM), or says nothing, gets lines.
 */
bool tty_obeys(int fd);

#endif
