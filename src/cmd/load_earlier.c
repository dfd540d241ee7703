/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_earlier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "load/history.h"

#define LOCK_TRIES 500u /* 5 s: a holder may have to wait for a CPU */
#define LOCK_PAUSE_NS 10000000L
#define LOAD_LEN_MAX 900
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

/*
 * Locks the folder of the file, or two loads that end at once would lose a line. Returns a
 * descriptor that holds the lock until it is closed; -1: other processes had it all the time.
 */
static int load_earlier_lock(const char *path)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	char *const folder = strdup(path);
	int fd = -1, err = -1;

	if (folder) {
		*strrchr(folder, '/') = '\0';
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		free(folder);
	}
	for (unsigned int i = 0; fd >= 0 && err && i < LOCK_TRIES; i++) {
		err = flock(fd, LOCK_EX | LOCK_NB);
		if (err)
			nanosleep(&pause, NULL);
	}
	if (fd >= 0 && err) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Appends the file's text; a missing file is empty. Returns 0 or -errno. */
static int load_earlier_read(const char *path, struct strbuf *text)
{
	char buf[4096];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : 1;
	int err = fd < 0 && errno != ENOENT ? -errno : 0;

	while (n > 0 && text->len < FILE_BYTES_MAX) {
		n = read(fd, buf, sizeof(buf));
		if (n > 0)
			strbuf_add(text, buf, (size_t)n);
	}
	if (n < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err ?: text->error;
}

void load_earlier_report(const char *load, struct report *r)
{
	struct strbuf path = STRBUF_INIT(4096), out = STRBUF_INIT(2 * FILE_BYTES_MAX);
	struct strbuf text = STRBUF_INIT(FILE_BYTES_MAX + 4096);
	const uint64_t now_s = (uint64_t)time(NULL);
	struct load_history h;
	int lock = -1;

	if (strlen(load) > LOAD_LEN_MAX || strchr(load, '\n') || !load_earlier_path(&path))
		goto out;
	lock = load_earlier_lock(strbuf_str(&path));
	if (lock < 0 || load_earlier_read(strbuf_str(&path), &text))
		goto out;
	load_history_count(strbuf_str(&text), load, now_s, &h);
	load_history_append(&out, strbuf_str(&text), load, now_s, r);
	if (!outfile_put(strbuf_str(&path), &out))
		load_history_report(&h, r);
out:
	if (lock >= 0)
		close(lock);
	strbuf_release(&path);
	strbuf_release(&text);
	strbuf_release(&out);
}
