/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_earlier.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "load/history.h"

#define TARGET_LEN_MAX 900
#define FILE_BYTES_MAX (LOAD_HISTORY_LINES * 1024) /* a longer file is read up to here */

/* Appends the file's path, having made its folders. Returns false if there can be none. */
static bool load_earlier_path(struct strbuf *path)
{
	static const char *const below_home[] = { "/.local", "/state", "/hostlat", NULL };
	const char *const home = getenv("HOME"), *const state = getenv("XDG_STATE_HOME");
	const bool set = state && *state == '/';
	const char *const *part = below_home + (set ? 2 : 0);
	bool there = set || (home && *home == '/');

	if (there)
		strbuf_puts(path, set ? state : home);
	for (; there && *part; part++) {
		strbuf_puts(path, *part);
		there = !folder_make(strbuf_str(path));
	}
	strbuf_puts(path, "/load-runs");
	return there && !path->error;
}

/* Appends the file's text, up to its first zero byte. A missing file is empty. */
static void load_earlier_read(const char *path, struct strbuf *text)
{
	char buf[4096];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0 && text->len < FILE_BYTES_MAX) {
		n = read(fd, buf, sizeof(buf));
		if (n > 0)
			strbuf_add(text, buf, (size_t)n);
	}
	if (fd >= 0)
		close(fd);
}

void load_earlier_report(const char *target, struct report *r)
{
	struct strbuf path = STRBUF_INIT(4096), out = STRBUF_INIT(2 * FILE_BYTES_MAX);
	struct strbuf text = STRBUF_INIT(FILE_BYTES_MAX + 4096);
	const uint64_t now_s = (uint64_t)time(NULL);
	struct load_history h;

	if (strlen(target) > TARGET_LEN_MAX || strchr(target, '\n') || !load_earlier_path(&path))
		goto out;
	load_earlier_read(strbuf_str(&path), &text);
	load_history_count(strbuf_str(&text), target, now_s, &h);
	load_history_append(&out, strbuf_str(&text), target, now_s, r);
	if (!outfile_put(strbuf_str(&path), &out))
		load_history_report(&h, r);
out:
	strbuf_release(&path);
	strbuf_release(&text);
	strbuf_release(&out);
}
