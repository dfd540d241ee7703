/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/bug.h"
#include "base/parse.h"
#include "host/cgroup.h"
#include "host/facts_source.h"
#include "host/kconfig.h"
#include "host/lockdown.h"
#include "host/mount.h"
#include "host/pids.h"

#define CPUINFO_MAX     (1 << 16)       /* bytes of /proc/cpuinfo: its first processor suffices */
#define IDLE_STATES_MAX 16
#define FLAWS_MAX       64

void fact_machine(const struct fact_source *source, const char *key, const char *arg)
{
	struct utsname name;

	(void)arg;
	if (source->root->live && !uname(&name))
		host_facts_add(source->facts, key, "%s", name.machine);
}

/* Returns the value of cpuinfo's first "field : value" line, or NULL. Valid as long as `text`. */
static char *fact_cpuinfo_field(char *text, const char *field)
{
	size_t n = strlen(field);
	char *line, *colon;

	while ((line = host_next_line(&text))) {
		if (strncmp(line, field, n) || !(colon = strchr(line, ':')))
			continue;
		if (line[n] == '\t' || line[n] == ' ' || line[n] == ':')
			return colon + 1 + strspn(colon + 1, " \t");
	}
	return NULL;
}

static char *fact_read_cpuinfo(const struct fact_source *source, const char *field, char **text)
{
	if (host_read_all(text, CPUINFO_MAX, "%s/cpuinfo", source->root->proc) < 0)
		return NULL;
	return fact_cpuinfo_field(*text, field);
}

static bool fact_has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

/* Returns the hypervisor's name, by its signature in CPUID 0x40000000. */
static const char *fact_hypervisor_name(void)
{
#ifdef __x86_64__
	static const struct {
		const char *signature, *name;
	} known[] = {
		{ "KVMKVMKVM", "kvm" },       { "VMwareVMware", "vmware" },
		{ "Microsoft Hv", "hyper-v" }, { "XenVMMXenVMM", "xen" },
		{ "TCGTCGTCGTCG", "qemu" },   { "bhyve bhyve ", "bhyve" },
		{ "ACRNACRNACRN", "acrn" },
	};
	unsigned int eax, ebx, ecx, edx;
	char signature[13] = "";

	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(signature, &ebx, 4);
	memcpy(signature + 4, &ecx, 4);
	memcpy(signature + 8, &edx, 4);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(signature, known[i].signature))
			return known[i].name;
#endif
	return "unknown hypervisor";
}

void fact_virtualization(const struct fact_source *source, const char *key, const char *arg)
{
	char *text = NULL, *flags, type[64];

	(void)arg;
	flags = fact_read_cpuinfo(source, "flags", &text);
	if (flags && fact_has_word(flags, "hypervisor"))
		host_facts_add(source->facts, key, "%s",
			       source->root->live ? fact_hypervisor_name() : "unknown hypervisor");
	else if (host_read(type, sizeof(type), "%s/hypervisor/type", source->root->sys) > 0)
		host_facts_add(source->facts, key, "%s", type);
	else if (flags)
		host_facts_add(source->facts, key, "none");
	else
		host_facts_add_unknown(
			source->facts, key,
			"/proc/cpuinfo lists no processor flags, which would show a hypervisor", 0);
	free(text);
}

/* Reads container=NAME, which managers set for the first process of the container. */
static int fact_container_of_init(const struct fact_source *source, char *name, size_t size)
{
	char *text, *at;
	int n, err = -ENOENT;

	n = host_read_all(&text, 64 << 10, "%s/1/environ", source->root->proc);
	if (n < 0)
		return n;
	for (at = text; at < text + n; at += strlen(at) + 1) {
		if (strncmp(at, "container=", 10))
			continue;
		snprintf(name, size, "%s", at + 10);
		err = 0;
	}
	free(text);
	return err;
}

/* Returns true in the initial process namespace: only there are kernel threads visible. */
static bool fact_sees_kernel_threads(const struct host_root *root)
{
	char comm[HOST_COMM_MAX];

	return !host_pid_comm(root, 2, comm, sizeof(comm)) && !strcmp(comm, "kthreadd");
}

void fact_container(const struct fact_source *source, const char *key, const char *arg)
{
	const struct host_root *root = source->root;
	struct host_cgroup cgroup;
	char name[128];

	(void)arg;
	if (!fact_container_of_init(source, name, sizeof(name)) ||
	    host_read(name, sizeof(name), "%s/systemd/container", root->run) > 0)
		host_facts_add(source->facts, key, "%s", name);
	else if (!host_cgroup_of(root, root->live ? getpid() : 1, &cgroup) && cgroup.manager)
		host_facts_add(source->facts, key, "%s", cgroup.label);
	else if (fact_sees_kernel_threads(root))
		host_facts_add(source->facts, key, "none");
	else if (root->live && !access("/.dockerenv", F_OK))
		host_facts_add(source->facts, key, "docker");
	else
		host_facts_add(source->facts, key, "private process namespace");
}

void fact_lockdown(const struct fact_source *source, const char *key, const char *arg)
{
	char value[64], *from;
	int n = host_lockdown(source->root, value, sizeof(value));

	(void)arg;
	from = n > 0 ? strchr(value, '[') : NULL;
	if (from)
		host_facts_add(source->facts, key, "%.*s", (int)strcspn(from + 1, "]"), from + 1);
	else if (n != -ENOENT && n != -ENODEV)
		host_facts_add_unknown(source->facts, key, "lockdown", n);
}

/* Reads debugfs' "none voluntary (full) lazy", of kernels that can change it at run time. */
static bool fact_preempt_now(const struct fact_source *source, const char *key)
{
	char value[128], *from, *to;
	int dir, n;

	dir = host_mount_open(source->root, "debugfs");
	if (dir < 0)
		return false;
	n = host_read_at(dir, "sched/preempt", value, sizeof(value));
	close(dir);
	from = n > 0 ? strchr(value, '(') : NULL;
	to = from ? strchr(from, ')') : NULL;
	if (!to)
		return false;
	host_facts_add(source->facts, key, "%.*s", (int)(to - from - 1), from + 1);
	return true;
}

static bool fact_preempt_command_line(const struct fact_source *source, const char *key)
{
	char cmdline[4096], *at, *word, *rest = cmdline;
	bool found = false;

	if (host_read(cmdline, sizeof(cmdline), "%s/cmdline", source->root->proc) < 0)
		return false;
	for (at = NULL; (word = strsep(&rest, " "));)
		if (!strncmp(word, "preempt=", 8))
			at = word + 8;
	if (at) {
		host_facts_add(source->facts, key, "%s", at);
		found = true;
	}
	return found;
}

static bool fact_preempt_config(const struct fact_source *source, const char *key)
{
	static const char *const options[][2] = {
		{ "CONFIG_PREEMPT_RT", "rt" },
		{ "CONFIG_PREEMPT", "full" },
		{ "CONFIG_PREEMPT_LAZY", "lazy" },
		{ "CONFIG_PREEMPT_VOLUNTARY", "voluntary" },
		{ "CONFIG_PREEMPT_NONE", "none" },
	};
	char value[8];

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (host_kconfig(source->root, options[i][0], value, sizeof(value)))
			return false;
		if (value[0] == 'y') {
			host_facts_add(source->facts, key, "%s", options[i][1]);
			return true;
		}
	}
	return false;
}

void fact_preempt(const struct fact_source *source, const char *key, const char *arg)
{
	(void)arg;
	if (fact_preempt_now(source, key) || fact_preempt_command_line(source, key) ||
	    fact_preempt_config(source, key))
		return;
	host_facts_add_unknown(source->facts, key,
			       "needs debugfs (root) or the kernel's configuration", 0);
}

/* Adds the tick's length, which is the resolution of the coarse clock. */
void fact_tick(const struct fact_source *source, const char *key, const char *arg)
{
	struct timespec res;

	(void)arg;
	if (source->root->live && !clock_getres(CLOCK_MONOTONIC_COARSE, &res) && res.tv_nsec)
		host_facts_add(source->facts, key, "%ld",
			       (1000000000 + res.tv_nsec / 2) / res.tv_nsec);
}

/* Returns the number of processors in a list such as "0-3,8". */
static uint64_t fact_count_list(const char *list)
{
	uint64_t from, to, n = 0;
	int used;

	while (sscanf(list, "%" SCNu64 "%n", &from, &used) == 1) {
		list += used;
		to = from;
		if (sscanf(list, "-%" SCNu64 "%n", &to, &used) == 1)
			list += used;
		n += to >= from ? to - from + 1 : 0;
		if (*list++ != ',')
			break;
	}
	return n;
}

void fact_cpu_count(const struct fact_source *source, const char *key, const char *arg)
{
	char list[HOST_FACT_VALUE_MAX];

	if (host_read(list, sizeof(list), "%s/%s", source->root->sys, arg) > 0)
		host_facts_add(source->facts, key, "%" PRIu64, fact_count_list(list));
}

void fact_cpu_model(const struct fact_source *source, const char *key, const char *arg)
{
	char *text = NULL, *other = NULL, *model, *part;

	(void)arg;
	model = fact_read_cpuinfo(source, "model name", &text);
	if (model) {
		host_facts_add(source->facts, key, "%s", model);
		goto out;
	}
	free(text);
	/* /proc/cpuinfo of arm64 has no model name, only numbers of implementer and part. */
	model = fact_read_cpuinfo(source, "CPU implementer", &text);
	part = fact_read_cpuinfo(source, "CPU part", &other);
	if (model && part)
		host_facts_add(source->facts, key, "implementer %s part %s", model, part);
out:
	free(other);
	free(text);
}

/* Adds the idle states of the first processor only. Times are in microseconds. */
void fact_idle_states(const struct fact_source *source, const char *key, const char *arg)
{
	static const char *const files[][2] = {
		{ "name", "name" },
		{ "latency", "exit_us" },
		{ "residency", "residency_us" },
		{ "disable", "disabled" },
	};
	char name[HOST_FACT_KEY_MAX], path[HOST_PATH_MAX];
	uint64_t latency;

	for (int i = 0; i < IDLE_STATES_MAX; i++) {
		if (host_read_u64(&latency, "%s/%s/state%d/latency", source->root->sys, arg, i))
			break;
		for (size_t j = 0; j < ARRAY_LEN(files); j++) {
			snprintf(name, sizeof(name), "%s.%d.%s", key, i, files[j][1]);
			snprintf(path, sizeof(path), "%s/state%d/%s", arg, i, files[j][0]);
			fact_sys(source, name, path);
		}
	}
}

struct names {
	char name[FLAWS_MAX][64];
	size_t n;
};

static int names_keep(void *ctx, const char *name)
{
	struct names *names = ctx;

	snprintf(names->name[names->n++], sizeof(names->name[0]), "%s", name);
	return 0;
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void fact_vulnerabilities(const struct fact_source *source, const char *key, const char *arg)
{
	char name[HOST_FACT_KEY_MAX], value[512];
	struct names names = { .n = 0 };

	host_each_entry(names_keep, &names, FLAWS_MAX, "%s/%s", source->root->sys, arg);
	qsort(names.name, names.n, sizeof(names.name[0]), names_compare);
	for (size_t i = 0; i < names.n; i++) {
		if (host_read(value, sizeof(value), "%s/%s/%s", source->root->sys, arg,
			      names.name[i]) <= 0 || !strcmp(value, "Not affected"))
			continue;
		snprintf(name, sizeof(name), "%s.%s", key, names.name[i]);
		host_facts_add(source->facts, name, "%s", value);
	}
}

/* Adds the percentage of all processor time since boot that the hypervisor gave to others. */
void fact_steal(const struct fact_source *source, const char *key, const char *arg)
{
	uint64_t t[8], total = 0;
	char stat[512];

	(void)arg;
	if (host_read(stat, sizeof(stat), "%s/stat", source->root->proc) < 0)
		return;
	/* Columns: user nice system idle iowait irq softirq steal; user includes guest time. */
	if (sscanf(stat, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		total += t[i];
	if (total)
		host_facts_add(source->facts, key, "%.4f", 100.0 * t[7] / total);
}

void fact_swap(const struct fact_source *source, const char *key, const char *arg)
{
	uint64_t used = 0, areas = 0, kib;
	char *text, *rest, *line;

	(void)arg;
	if (host_read_all(&text, 64 << 10, "%s/swaps", source->root->proc) < 0)
		return;
	rest = text;
	host_next_line(&rest);  /* skips the heading of /proc/swaps */
	while ((line = host_next_line(&rest)))
		if (sscanf(line, "%*s %*s %*u %" SCNu64, &kib) == 1) {
			areas++;
			used += kib;
		}
	free(text);
	if (areas)
		host_facts_add(source->facts, key, "%" PRIu64, used);
	else
		host_facts_add(source->facts, key, "none");
}

void fact_tai(const struct fact_source *source, const char *key, const char *arg)
{
	struct timex tx = { 0 };

	(void)arg;
	if (source->root->live && adjtimex(&tx) >= 0)
		host_facts_add(source->facts, key, "%d", tx.tai);
}

void fact_clock_synchronized(const struct fact_source *source, const char *key, const char *arg)
{
	struct timex tx = { 0 };

	(void)arg;
	if (source->root->live && adjtimex(&tx) >= 0)
		host_facts_add(source->facts, key, "%s", tx.status & STA_UNSYNC ? "no" : "yes");
}

void fact_clock_error(const struct fact_source *source, const char *key, const char *arg)
{
	struct timex tx = { 0 };

	(void)arg;
	if (source->root->live && adjtimex(&tx) >= 0 && !(tx.status & STA_UNSYNC))
		host_facts_add(source->facts, key, "%ld", tx.maxerror);
}
