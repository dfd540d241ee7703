/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded PID SECONDS: what each run of the programs takes that process PID has loaded, a
 * recording that goes on, by the kernel's run-time statistics, which are on for these seconds only.
 * The statistics' own cost is that of an empty program at the same place in the same seconds; it
 * runs last there, when the caches are warm. Prints a line for each program: family, name, runs,
 * ns of a run, ns of an empty program; and first, how many events of CPU activity were recorded:
 * not all runs of programs at system calls and faults tell of one. Run by bench/recording.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi_record.h"
#include "bench/recorded.skel.h"

#define PROGRAMS_MAX 256

/* By how a program's name begins; the first that fits. The kernel cuts names after 15 letters. */
static const struct family {
	const char *begin, *name, *empty;
} families[] = {
	{ "act_switch", "switch", "empty_switch" },
	{ "act_waking", "waking", "empty_waking" },
	{ "act_irq", "interrupt", "empty_vector" },
	{ "act_local_timer", "interrupt", "empty_vector" },
	{ "act_reschedule", "interrupt", "empty_vector" },
	{ "act_call_functi", "interrupt", "empty_vector" },
	{ "act_softirq", "softirq", "empty_softirq" },
	{ "act_idle", "idle", "empty_idle" },
	{ "act_syscall", "syscall", "empty_syscall" },
	{ "act_fault", "fault", "empty_syscall" },
	{ "act_reads", "reads", "empty_read" },
	{ "link_tp", "receive", "empty_link" },
	{ "transport_nf", "receive", "empty_probe" },
	{ "tcp_socket_tp", "receive", "empty_probe" },
	{ "enqueued_tp", "receive", "empty_probe" },
	{ "enqueued_fentry", "receive", "empty_probe" },
	{ "waking_tp", "reader", "empty_waking" },
	{ "switch_tp", "reader", "empty_switch" },
	{ "tcp_copied_", "read", "empty_read" },
	{ "returned_tp", "read", "empty_read" },
	{ "send_tp", "send", "empty_syscall" },
	{ "send_end_tp", "send", "empty_syscall" },
	{ "qdisc_tp", "send", "empty_sent" },
	{ "driver_tp", "send", "empty_sent" },
	{ "handed_tp", "send", "empty_sent" },
	{ "sent_tp", "send", "empty_sent" },
	{ "empty_", "empty", NULL },
};

struct program {
	int fd;
	char name[BPF_OBJ_NAME_LEN];
	const struct family *family;
	uint64_t runs, ns; /* since find_programs() */
};

static struct program programs[PROGRAMS_MAX];
static uint32_t n_programs;
static const struct act_ring *rings; /* rings of CPU activity: one for each CPU */
static uint32_t n_rings;

static const struct family *family_of(const char *name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strncmp(name, families[i].begin, strlen(families[i].begin)))
			return &families[i];
	return NULL;
}

static int statistics(int fd, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &size) ? -errno : 0;
}

static int add_program(int fd)
{
	struct program *p = &programs[n_programs];
	struct bpf_prog_info info;
	int err = statistics(fd, &info);

	if (err)
		return err;
	*p = (struct program){ .fd = fd, .family = family_of(info.name) };
	if (!p->family || n_programs + 1 == PROGRAMS_MAX)
		return 0;
	memcpy(p->name, info.name, sizeof(p->name));
	p->runs = -info.run_cnt;
	p->ns = -info.run_time_ns;
	n_programs++;
	return 0;
}

/* Returns the number of the program or map behind a file descriptor, or 0. */
static uint32_t number_of(const char *pid, const char *fd, const char *what)
{
	char path[PATH_MAX], line[128], format[32];
	uint32_t id = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, fd);
	snprintf(format, sizeof(format), "%s: %%u", what);
	file = fopen(path, "re");
	while (file && !id && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &id) != 1)
			id = 0;
	if (file)
		fclose(file);
	return id;
}

/* A map, if it is that of the rings. */
static int add_rings(uint32_t id)
{
	const int fd = bpf_map_get_fd_by_id(id);
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);
	void *mapped;
	int err = 0;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	if (!rings && !strcmp(info.name, "rings") && info.value_size == sizeof(*rings)) {
		mapped = mmap(NULL, info.max_entries * sizeof(*rings), PROT_READ, MAP_SHARED,
			      fd, 0);
		err = mapped == MAP_FAILED ? -errno : 0;
		rings = err ? NULL : mapped;
		n_rings = info.max_entries;
	}
	close(fd);
	return err;
}

static uint64_t events(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n_rings; i++)
		sum += __atomic_load_n(&rings[i].head, __ATOMIC_RELAXED);
	return sum;
}

/* Other recordings' programs have the same names. A link's descriptor names its program, too. */
static int find_programs(const char *pid)
{
	uint32_t seen[2 * PROGRAMS_MAX], n = 0;
	struct dirent *entry;
	char path[PATH_MAX];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && n < 2 * PROGRAMS_MAX && (entry = readdir(dir))) {
		const uint32_t id = number_of(pid, entry->d_name, "prog_id");
		const uint32_t map = number_of(pid, entry->d_name, "map_id");
		uint32_t i = 0;
		int fd;

		err = map ? add_rings(map) : 0;
		while (i < n && seen[i] != id)
			i++;
		if (err || !id || i < n)
			continue;
		seen[n++] = id;
		fd = bpf_prog_get_fd_by_id(id);
		err = fd < 0 ? 0 : add_program(fd); /* it may have ended meanwhile */
	}
	closedir(dir);
	return err;
}

static int find_empty(const struct recorded_bpf *skel)
{
	struct bpf_program *program;
	int err = 0;

	bpf_object__for_each_program(program, skel->obj)
		if (!err)
			err = add_program(bpf_program__fd(program));
	return err;
}

static int take_statistics(void)
{
	struct bpf_prog_info info;

	for (uint32_t i = 0; i < n_programs; i++) {
		int err = statistics(programs[i].fd, &info);

		if (err)
			return err;
		programs[i].runs += info.run_cnt;
		programs[i].ns += info.run_time_ns;
	}
	return 0;
}

static double ns_of(const struct program *p)
{
	return (double)p->ns / (double)p->runs;
}

/* -1: it did not run. */
static double empty_ns(const char *name)
{
	for (uint32_t i = 0; i < n_programs; i++)
		if (!strcmp(programs[i].name, name) && programs[i].runs)
			return ns_of(&programs[i]);
	return -1;
}

static void print(void)
{
	for (uint32_t i = 0; i < n_programs; i++) {
		const struct program *p = &programs[i];

		if (p->runs && p->family->empty)
			printf("%s %s %llu %.1f %.1f\n", p->family->name, p->name,
			       (unsigned long long)p->runs, ns_of(p), empty_ns(p->family->empty));
	}
}

int main(int argc, char **argv)
{
	struct recorded_bpf *skel;
	uint64_t told = 0;
	int err, stats;

	if (argc != 3 || atof(argv[2]) <= 0) {
		fprintf(stderr, "usage: recorded PID SECONDS\n");
		return 1;
	}
	skel = recorded_bpf__open_and_load();
	err = skel ? recorded_bpf__attach(skel) : -errno;
	stats = err ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME); /* until this process ends */
	if (!err && stats < 0)
		err = stats;
	if (!err)
		err = find_programs(argv[1]);
	if (!err)
		err = find_empty(skel);
	if (!err)
		told = -events();
	if (!err && !usleep((useconds_t)(1e6 * atof(argv[2]))))
		err = take_statistics();
	if (err)
		fprintf(stderr, "recorded: %s\n", strerror(-err));
	else
		printf("events %llu\n", (unsigned long long)(told + events()));
	if (!err)
		print();
	recorded_bpf__destroy(skel);
	return err ? 2 : 0;
}
