/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tty.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tty_obeys(int fd)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}
