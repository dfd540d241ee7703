/* SPDX-License-Identifier: Apache-2.0 */
/* Reads whole files as text. */
#ifndef HOSTLAT_BASE_READFILE_H
#define HOSTLAT_BASE_READFILE_H

#include "base/strbuf.h"

/*
 * Append a file, or the rest of an open one, to `text`. Return 0, -errno of open() or read(),
 * -E2BIG beyond the text's limit, -ENOMEM. readfile() opens by invoker_open(); readfile_fd() does
 * not close `fd`.
 */
int readfile(const char *path, struct strbuf *text);
int readfile_fd(int fd, struct strbuf *text);

#endif
