/* SPDX-License-Identifier: Apache-2.0 */
/* Causes of delay that the server inflicts on itself and logs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mini.h"

#define PAGE 4096u
#define PAGES 4096u
#define GAP_NS 20000u
#define FAR_PAGES 16384u
#define FAR_GAP_NS 100000u /* a page is fetched in less */
#define FAR_NODE 1u
#define FAR_LIMIT_NS (60 * NSEC_PER_SEC)

static _Atomic uint32_t wanted_us;	/* how long the helper must hold the lock */
static _Atomic uint32_t held;		/* the lock: 1 while the helper has it */
static _Atomic uint32_t taken;		/* how often it had it */
static char *pages;
static _Atomic uint32_t next_page;
static int fault_fd;
static char *far;
static uint32_t next_far;

static void note_gap(uint64_t begin, uint64_t end)
{
	if (end - begin > GAP_NS)
		log_injected(CAUSE_GAP, own_tid(), 0, begin, end);
}

void spin(uint64_t ns)
{
	uint64_t last = now_ns(), end = last + ns;

	while (last < end) {
		uint64_t now = now_ns();

		note_gap(last, now);
		last = now;
	}
}

/* Where a helper let the calling thread go on; it took until now to do so. */
static void released(enum cause cause, uint32_t culprit, uint64_t begin)
{
	log_injected(cause, own_tid(), culprit, begin, mini->released);
	log_injected(CAUSE_GAP, own_tid(), 0, mini->released, now_ns());
}

/* ---- a lock ---- */

static void *hold(void *unused)
{
	uint32_t us;

	prctl(PR_SET_NAME, "holder");
	pin(opt.client_cpu);
	mini->holder = own_tid();
	word_raise(&mini->ready);
	for (;;) {
		word_await(&wanted_us, 1);
		us = wanted_us;
		wanted_us = 0;
		held = 1;
		taken++;
		sleep_until(now_ns() + us * 1000ull);
		mini->released = now_ns();
		held = 0;
		syscall(SYS_futex, &held, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
	return unused;
}

static void wait_for_lock(uint32_t us)
{
	uint32_t before = taken;
	uint64_t asked = now_ns(), begin = asked;

	wanted_us = us;
	syscall(SYS_futex, &wanted_us, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	begin = now_ns();
	while (taken == before) { /* the helper may have the same CPU, and the same priority */
		sched_yield();
		begin = now_ns();
	}
	note_gap(asked, begin);
	while (held)
		syscall(SYS_futex, &held, FUTEX_WAIT, 1, NULL, NULL, 0);
	released(CAUSE_LOCK, mini->holder, begin);
}

/* ---- a page ---- */

static void *page(void *unused)
{
	struct uffd_msg message;
	struct uffdio_zeropage zero = { .range.len = PAGE };

	prctl(PR_SET_NAME, "pager");
	pin(opt.client_cpu);
	mini->pager = own_tid();
	word_raise(&mini->ready);
	for (;;) {
		must(read(fault_fd, &message, sizeof(message)) == sizeof(message), "userfaultfd");
		must(message.event == UFFD_EVENT_PAGEFAULT, "event");
		sleep_until(now_ns() + opt.cause_us * 1000ull);
		mini->released = now_ns();
		zero.range.start = message.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
		must(ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero) == 0, "UFFDIO_ZEROPAGE");
	}
	return unused;
}

static void open_pages(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	fault_fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	must(fault_fd >= 0, "userfaultfd");
	must(ioctl(fault_fd, UFFDIO_API, &api) == 0, "UFFDIO_API");
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	must(pages != MAP_FAILED, "mmap");
	must(madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE) == 0, "madvise");
	area.range.start = (uintptr_t)pages;
	area.range.len = PAGES * PAGE;
	must(ioctl(fault_fd, UFFDIO_REGISTER, &area) == 0, "UFFDIO_REGISTER");
}

static void touch(void)
{
	uint64_t begin = now_ns();

	must(next_page < PAGES, "no page is left");
	*(volatile char *)(pages + PAGE * next_page++);
	released(CAUSE_FAULT, mini->pager, begin);
}

/* ---- pages of another node ---- */

/* How many pages have been marked for NUMA balancing, of all processes. */
static uint64_t marked(void)
{
	unsigned long long n = 0;
	char line[128];
	FILE *f = fopen("/proc/vmstat", "re");

	must(f != NULL, "/proc/vmstat");
	while (fgets(line, sizeof(line), f) && sscanf(line, "numa_pte_updates %llu", &n) != 1)
		;
	fclose(f);
	return n;
}

/* Memory of the other node, all of it marked: its first touch is a fault that fetches the page. */
static void open_far(void)
{
	const unsigned long nodes = 1ul << FAR_NODE;
	const uint64_t until = now_ns() + FAR_LIMIT_NS;
	uint64_t before;

	far = mmap(NULL, FAR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	must(far != MAP_FAILED, "mmap");
	must(madvise(far, FAR_PAGES * PAGE, MADV_NOHUGEPAGE) == 0, "madvise");
	must(syscall(SYS_mbind, far, FAR_PAGES * PAGE, MPOL_BIND, &nodes, 64, 0) == 0, "mbind");
	memset(far, 1, FAR_PAGES * PAGE);
	must(syscall(SYS_mbind, far, FAR_PAGES * PAGE, MPOL_DEFAULT, NULL, 0, 0) == 0, "mbind");
	before = marked();
	while (marked() < before + FAR_PAGES) /* it takes time on a CPU to be looked at */
		must(now_ns() < until, "NUMA balancing");
}

static void touch_far(uint32_t us)
{
	const uint64_t begin = now_ns(), end = begin + us * 1000ull;
	uint64_t last = begin, now;

	for (; last < end; last = now) {
		must(next_far < FAR_PAGES, "no page is left");
		*(volatile char *)(far + PAGE * next_far++);
		now = now_ns();
		if (now - last > FAR_GAP_NS)
			log_injected(CAUSE_GAP, own_tid(), 0, last, now);
	}
	log_injected(CAUSE_NUMA, own_tid(), own_tid(), begin, now_ns());
}

/* ---- which of them ---- */

uint32_t cause_helpers(void)
{
	return opt.cause == CAUSE_LOCK || opt.cause == CAUSE_FAULT;
}

void causes_begin(void)
{
	void *(*helper)(void *) = opt.cause == CAUSE_LOCK ? hold : page;
	pthread_t thread;

	if (opt.cause == CAUSE_FAULT)
		open_pages();
	if (opt.cause == CAUSE_NUMA)
		open_far();
	if (cause_helpers())
		must(pthread_create(&thread, NULL, helper, NULL) == 0, "pthread_create");
}

void cause_now(uint32_t us)
{
	uint64_t begin = now_ns();

	if (opt.cause == CAUSE_LOCK)
		wait_for_lock(us);
	if (opt.cause == CAUSE_FAULT)
		touch();
	if (opt.cause == CAUSE_NUMA)
		touch_far(us);
	if (opt.cause == CAUSE_BURST) {
		spin(us * 1000ull);
		log_injected(CAUSE_BURST, own_tid(), own_tid(), begin, now_ns());
	}
}
