/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_BASE_TTY_H
#define HOSTLAT_BASE_TTY_H

#include <stdbool.h>

/*
 * Returns true if `fd` is a terminal that obeys escape sequences: colors, and a cursor that moves.
 * False if TERM is "dumb" or unset: output is then plain lines.
 */
bool tty_obeys(int fd);

#endif
