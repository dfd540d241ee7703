/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/stop.h"
#include "clock/clock.h"

#define RECORDING_MODE 0640 /* not world-readable: has all users' connections and programs */

static bool recording_has_both(const char *name)
{
	log_error("%s cannot be both the recording and the result: name two files", name);
	return false;
}

bool recording_is_apart(const char *path, const char *output)
{
	return !path || !outfile_same(path, output) || recording_has_both(path);
}

/* Returns whether recording and result are the same file. */
static bool recording_is_result(const char *path, int result_fd)
{
	struct stat file, result;

	return !stat(path, &file) && !fstat(result_fd, &result) &&
	       file.st_dev == result.st_dev && file.st_ino == result.st_ino;
}

int recording_open(struct recording *r, const char *path, uint64_t size_limit, int result_fd)
{
	struct event_writer_options options = {
		.size_limit = size_limit,
		.started_ns = clock_real_ns(clock_system()),
	};
	int err;

	*r = (struct recording){ .path = path, .fd = -1 };
	if (!path)
		return 0;
	err = outfile_open_mode(&r->file, path, RECORDING_MODE);
	if (!err && recording_is_result(path, result_fd)) {
		recording_has_both(path);
		return -EEXIST;
	}
	if (!err)
		r->fd = memfd_create("recording", MFD_CLOEXEC);
	if (!err && r->fd < 0)
		err = -errno;
	if (!err)
		err = event_writer_new(&r->writer, r->fd, &options);
	if (err)
		log_error("cannot record to %s: %s", path, folder_strerror(err));
	return err;
}

void recording_failed(struct recording *r, int err)
{
	if (!err || r->error)
		return;
	r->error = err;
	log_error("recording to %s failed: %s (%s)", r->path, strerror(-err),
		  r->nameless ? "there is no file" : "the part written so far can be read");
}

/* Copies the bytes written so far from memory to the file. */
static int recording_publish(struct recording *r)
{
	char data[16384];
	off_t at = 0;
	ssize_t n, written;

	while ((n = pread(r->fd, data, sizeof(data), at)) > 0) {
		written = stop_write(r->file.fd, data, (size_t)n);
		if (written < 0 && written != -EINTR)
			return (int)written;
		at += written > 0 ? written : 0;
	}
	return n < 0 ? -errno : 0;
}

void recording_begin(struct recording *r)
{
	int err;

	if (!r->path || !r->file.open || r->begun)
		return;
	r->begun = true;
	recording_failed(r, recording_publish(r));
	err = outfile_publish(&r->file);
	r->nameless = err;
	recording_failed(r, err);
	/* The writer's descriptor refers to the file from now on. */
	if (dup3(r->file.fd, r->fd, O_CLOEXEC) < 0)
		recording_failed(r, -errno);
}

bool recording_fits(struct recording *r, const struct event_block *block)
{
	r->full |= r->writer && !event_writer_fits(r->writer, block);
	return !r->full;
}

void recording_copy(struct recording *r, const struct event_block *block)
{
	if (r->writer)
		recording_failed(r, event_writer_copy(r->writer, block));
}

void recording_flush(struct recording *r)
{
	if (r->writer)
		recording_failed(r, event_writer_flush(r->writer));
}

/* Discards a recording whose run never began; an existing file stays unchanged. */
static void recording_abandon(struct recording *r)
{
	event_writer_free(r->writer);
	if (r->fd >= 0)
		close(r->fd);
	outfile_release(&r->file);
	r->writer = NULL;
	r->fd = -1;
}

void recording_close(struct recording *r)
{
	struct stat file;

	if (!r->path)
		return;
	if (!r->begun) {
		recording_abandon(r);
		return;
	}
	if (r->writer) {
		r->full |= event_writer_full(r->writer);
		if (r->full)
			log_warning("the recording reached its size limit");
		recording_failed(r, event_writer_close(r->writer));
	}
	if (r->fd >= 0) {
		if (!fstat(r->fd, &file))
			r->bytes = file.st_size;
		if (close(r->fd))
			recording_failed(r, -errno);
	}
	recording_failed(r, outfile_commit(&r->file));
	r->writer = NULL;
	r->fd = -1;
}
