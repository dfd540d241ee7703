/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timekeeping_sched.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DATA_PAGES 1 /* pages of the record buffer; a page holds 80 records or more */

int sched_reader_open(struct sched_reader *r)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1, .comm = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *pages;

	*r = (struct sched_reader){ .size = (1 + DATA_PAGES) * page };
	r->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	pages = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	r->pages = pages;
	return 0;
}

void sched_reader_close(struct sched_reader *r)
{
	if (r->pages)
		munmap(r->pages, r->size);
	if (r->fd >= 0)
		close(r->fd);
	*r = (struct sched_reader){ .fd = -1 };
}

/*
 * Reads the time in the last record. The time never wraps around the end of perf's buffer: it is
 * the last 8 bytes of a record, and the size of records is a multiple of 8.
 */
static int last_time(struct sched_reader *r, uint64_t *ns)
{
	struct perf_event_mmap_page *control = r->pages;
	const size_t size = r->size * DATA_PAGES / (1 + DATA_PAGES);
	const unsigned char *data = (unsigned char *)r->pages + (r->size - size);
	uint64_t tail = control->data_tail;
	const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	int err = -ENODATA;

	while (tail < head) {
		struct perf_event_header header;

		memcpy(&header, data + tail % size, sizeof(header));
		if (header.size < sizeof(header) + sizeof(*ns) || header.size % 8)
			return -EBADMSG;
		tail += header.size;
		if (header.type != PERF_RECORD_COMM)
			continue;
		memcpy(ns, data + (tail - sizeof(*ns)) % size, sizeof(*ns));
		err = 0;
	}
	__atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}

int sched_reader_read(void *ctx, uint64_t *ns)
{
	struct sched_reader *r = ctx;
	char name[16];

	/* Setting the name that the thread already has makes perf write a record. */
	if (!r->pages || prctl(PR_GET_NAME, name) || prctl(PR_SET_NAME, name))
		return -ENODATA;
	return last_time(r, ns);
}
