/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files as text. */
#ifndef HOSTLAT_BASE_READFILE_H
#define HOSTLAT_BASE_READFILE_H

#include "base/strbuf.h"

/*
 * Add the rest of a file to `text`. Return 0, -errno of open() or read(), -E2BIG beyond the text's
 * limit, -ENOMEM. A path is opened by invoker_open(); `fd` stays the caller's.
 */
int readfile(const char *path, struct strbuf *text);
int readfile_fd(int fd, struct strbuf *text);

#endif
