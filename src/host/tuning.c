/* SPDX-License-Identifier: Apache-2.0 */
#include "host/tuning.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/vec.h"

enum condition {
	IS,             /* the rule applies if the fact's value equals the operand */
	IS_NOT,
	HAS,            /* the rule applies if the fact's value contains the operand */
	ABOVE,          /* the rule applies if the fact's value is a number above the operand */
	BELOW,
};

struct tuning_rule {
	const char *fact;               /* key; one '*' matches its variable part */
	enum condition condition;
	const char *operand;
	/* A second fact, with the same variable part, that must have this value; NULL: none. */
	const char *also_fact, *also_value;
	const char *why, *source, *change;
};

/* Rules. Sources are files of the kernel's source tree. */
static const struct tuning_rule rules[] = {
	{ "cpu.frequency.governor", HAS, "powersave", NULL, NULL,
	  "work begins at a low clock, and the clock rises only after a while of load",
	  "Documentation/admin-guide/pm/cpufreq.rst", "cpupower frequency-set -g performance" },
	{ "cpu.frequency.governor", HAS, "ondemand", NULL, NULL,
	  "work begins at a low clock, and the clock rises only after a while of load",
	  "Documentation/admin-guide/pm/cpufreq.rst", "cpupower frequency-set -g performance" },
	{ "cpu.frequency.governor", HAS, "conservative", NULL, NULL,
	  "work begins at a low clock, and the clock rises in steps",
	  "Documentation/admin-guide/pm/cpufreq.rst", "cpupower frequency-set -g performance" },
	{ "cpu.frequency.governor", HAS, "schedutil", NULL, NULL,
	  "the clock follows the load of the recent past, so work after a pause is slower",
	  "Documentation/admin-guide/pm/cpufreq.rst", "cpupower frequency-set -g performance" },
	{ "cpu.idle.state.*.exit_us", ABOVE, "9", "cpu.idle.state.*.disabled", "0",
	  "an interrupt waits this many microseconds until the processor has left the idle state",
	  "Documentation/admin-guide/pm/cpuidle.rst",
	  "hold /dev/cpu_dma_latency open with a limit, or cpupower idle-set -D 10" },
	{ "cpu.idle.halt_poll_ns", IS, "0", "cpu.idle.driver", "haltpoll",
	  "an idle virtual CPU halts at once; to wake it, the hypervisor must schedule it",
	  "Documentation/virt/guest-halt-polling.rst",
	  "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns" },
	{ "cpu.smt", IS, "on", NULL, NULL,
	  "two threads share a core's units and caches: load on one slows the other",
	  "Lo et al., Heracles, ISCA 2015",
	  "keep latency-critical threads' siblings idle (cpusets), or boot with nosmt" },
	{ "cpu.steal_percent", ABOVE, "0.1", NULL, NULL,
	  "the hypervisor ran other machines while this machine had work",
	  "Documentation/filesystems/proc.rst (steal)",
	  "dedicated processors on the physical machine" },
	{ "cpu.vulnerability.meltdown", HAS, "PTI", NULL, NULL,
	  "each system call and interrupt switches page tables",
	  "Documentation/arch/x86/pti.rst",
	  "a processor without the flaw; nopti removes the protection" },
	{ "cpu.vulnerability.mds", HAS, "Clear CPU buffers", NULL, NULL,
	  "each return to user space clears the processor's buffers",
	  "Documentation/admin-guide/hw-vuln/mds.rst",
	  "a processor without the flaw; mds=off removes the protection" },
	{ "cpu.vulnerability.spectre_v2", HAS, "Retpolines", NULL, NULL,
	  "indirect calls, of which each packet makes many, are not predicted",
	  "Documentation/admin-guide/hw-vuln/spectre.rst",
	  "a processor with enhanced IBRS; spectre_v2=off removes the protection" },
	{ "cpu.vulnerability.spectre_v2", HAS, "Mitigation: IBRS", NULL, NULL,
	  "each entry into the kernel writes a slow processor register",
	  "Documentation/admin-guide/hw-vuln/spectre.rst",
	  "a processor with enhanced IBRS; spectre_v2=off removes the protection" },
	{ "cpu.vulnerability.spec_rstack_overflow", HAS, "Safe RET", NULL, NULL,
	  "returns inside the kernel take a longer path",
	  "Documentation/admin-guide/hw-vuln/srso.rst",
	  "a processor without the flaw; spec_rstack_overflow=off removes the protection" },
	{ "clock.source", IS, "hpet", NULL, NULL,
	  "reading the time is a system call and a slow device access instead of one instruction",
	  "Documentation/virt/kvm/x86/timekeeping.rst",
	  "find out why the kernel distrusts the TSC (dmesg), then clocksource=tsc" },
	{ "clock.source", IS, "acpi_pm", NULL, NULL,
	  "reading the time is a system call and a slow device access instead of one instruction",
	  "Documentation/virt/kvm/x86/timekeeping.rst",
	  "find out why the kernel distrusts the TSC (dmesg), then clocksource=tsc" },
	{ "kernel.preempt", IS, "none", NULL, NULL,
	  "a woken thread waits until the kernel code that runs on its CPU is done",
	  "kernel/Kconfig.preempt (PREEMPT_NONE)", "boot with preempt=full" },
	{ "kernel.preempt", IS, "voluntary", NULL, NULL,
	  "a woken thread waits until the kernel code that runs on its CPU allows it",
	  "kernel/Kconfig.preempt (PREEMPT_VOLUNTARY)", "boot with preempt=full" },
	{ "kernel.hz", BELOW, "1000", NULL, NULL,
	  "a thread whose time slice is over may run on until the next tick",
	  "kernel/Kconfig.hz", "a kernel with CONFIG_HZ_1000" },
	{ "memory.thp", IS, "always", NULL, NULL,
	  "page faults clear and may compact 2 MiB at once",
	  "Documentation/admin-guide/mm/transhuge.rst",
	  "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" },
	{ "memory.thp_defrag", IS, "always", NULL, NULL,
	  "a page fault stalls to reclaim and compact memory for a huge page",
	  "Documentation/admin-guide/mm/transhuge.rst",
	  "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag" },
	{ "memory.ksm", IS, "1", NULL, NULL,
	  "writing to a merged page is a page fault and a copy",
	  "Documentation/admin-guide/mm/ksm.rst", "echo 0 > /sys/kernel/mm/ksm/run" },
	{ "memory.swap_used_kib", ABOVE, "0", NULL, NULL,
	  "touching a page that was swapped out waits for the disk",
	  "Documentation/admin-guide/mm/concepts.rst",
	  "lock the service's memory (mlockall), or protect its cgroup with memory.min" },
	{ "vm.zone_reclaim_mode", IS_NOT, "0", NULL, NULL,
	  "allocations reclaim memory of the node instead of using another node's memory",
	  "Documentation/admin-guide/sysctl/vm.rst", "sysctl vm.zone_reclaim_mode=0" },
	{ "kernel.numa_balancing", IS_NOT, "0", NULL, NULL,
	  "pages are unmapped now and then, so that touching them is a page fault",
	  "Documentation/admin-guide/sysctl/kernel.rst",
	  "bind the service to a node (numactl), then sysctl kernel.numa_balancing=0" },
	{ "kernel.bpf_stats_enabled", IS, "1", NULL, NULL,
	  "each run of a BPF program reads the clock twice",
	  "Documentation/admin-guide/sysctl/kernel.rst", "sysctl kernel.bpf_stats_enabled=0" },
	{ "net.core.busy_poll", IS, "0", NULL, NULL,
	  "a reader sleeps until interrupt, softirq and scheduler have run for the packet",
	  "Documentation/networking/napi.rst (busy polling)",
	  "if a CPU can be dedicated to polling: sysctl "
	  "net.core.busy_poll=50 net.core.busy_read=50" },
	{ "net.ipv4.tcp_autocorking", IS, "1", NULL, NULL,
	  "a small write waits while an earlier packet of the connection is in the NIC's queue",
	  "Documentation/networking/ip-sysctl.rst", "sysctl net.ipv4.tcp_autocorking=0" },
	{ "net.ipv4.tcp_slow_start_after_idle", IS, "1", NULL, NULL,
	  "after a pause a connection sends as slowly as a new one",
	  "Documentation/networking/ip-sysctl.rst",
	  "sysctl net.ipv4.tcp_slow_start_after_idle=0" },
	{ "net.softnet.dropped", ABOVE, "0", NULL, NULL,
	  "packets were lost since boot because a CPU's backlog was full",
	  "Documentation/admin-guide/sysctl/net.rst (netdev_max_backlog)",
	  "spread the load over more CPUs, or raise net.core.netdev_max_backlog" },
	{ "net.softnet.squeezed", ABOVE, "0", NULL, NULL,
	  "since boot, receive polling has stopped with packets left, which waited for the next "
	  "poll",
	  "Documentation/admin-guide/sysctl/net.rst (netdev_budget)",
	  "spread the load over more CPUs, or raise net.core.netdev_budget" },
	{ "iface.*.coalesce.rx_usecs", ABOVE, "0", NULL, NULL,
	  "the NIC delays interrupts by up to this many microseconds",
	  "Documentation/networking/ethtool-netlink.rst (COALESCE_GET)",
	  "ethtool -C IFACE adaptive-rx off rx-usecs 0" },
	{ "iface.*.coalesce.adaptive_rx", IS, "on", NULL, NULL,
	  "the driver adapts the NIC's interrupt delay to the load",
	  "Documentation/networking/net_dim.rst", "ethtool -C IFACE adaptive-rx off rx-usecs 0" },
	{ "iface.*.gro_flush_timeout_ns", ABOVE, "0", NULL, NULL,
	  "packets wait in GRO for up to this many nanoseconds to be merged with later packets",
	  "Documentation/networking/napi.rst (software IRQ coalescing)",
	  "echo 0 > /sys/class/net/IFACE/gro_flush_timeout" },
	{ "iface.*.irq_cpus", IS, "1", NULL, NULL,
	  "one CPU handles the interrupts of all receive queues",
	  "Documentation/networking/scaling.rst (RSS IRQ configuration)",
	  "one CPU per queue: /proc/irq/N/smp_affinity_list, or irqbalance" },
	{ "iface.*.eee", IS, "active", NULL, NULL,
	  "the link sleeps between packets and takes microseconds to wake",
	  "IEEE 802.3az (Energy-Efficient Ethernet)", "ethtool --set-eee IFACE eee off" },
};

/*
 * Returns true if `key` matches `pattern`; *part: the text matched by '*', *part_len 0 without '*'.
 */
static bool tuning_key_fits(const char *pattern, const char *key, const char **part, int *part_len)
{
	const char *star = strchr(pattern, '*');
	size_t before, after, n = strlen(key);

	*part = key;
	*part_len = 0;
	if (!star)
		return !strcmp(pattern, key);
	before = star - pattern;
	after = strlen(star + 1);
	if (n <= before + after || strncmp(key, pattern, before) ||
	    strcmp(key + n - after, star + 1))
		return false;
	*part = key + before;
	*part_len = n - before - after;
	return true;
}

static bool tuning_holds(const struct tuning_rule *rule, const char *value)
{
	char *end;
	double number;

	switch (rule->condition) {
	case IS:
		return !strcmp(value, rule->operand);
	case IS_NOT:
		return strcmp(value, rule->operand);
	case HAS:
		return strstr(value, rule->operand);
	case ABOVE:
	case BELOW:
		number = strtod(value, &end);
		if (end == value || *end)
			return false;
		return rule->condition == ABOVE ? number > strtod(rule->operand, NULL) :
						  number < strtod(rule->operand, NULL);
	}
	return false;
}

static bool tuning_also_holds(const struct tuning_rule *rule, const struct host_facts *facts,
			      const char *part, int part_len)
{
	const char *star, *value;
	char key[2 * HOST_FACT_KEY_MAX];

	if (!rule->also_fact)
		return true;
	star = strchr(rule->also_fact, '*');
	if (star)
		snprintf(key, sizeof(key), "%.*s%.*s%s", (int)(star - rule->also_fact),
			 rule->also_fact, part_len, part, star + 1);
	else
		snprintf(key, sizeof(key), "%s", rule->also_fact);
	value = host_facts_get(facts, key);
	return value && !strcmp(value, rule->also_value);
}

int host_tuning(const struct host_facts *facts, struct host_advice_vec *list)
{
	const struct host_fact *fact;
	const char *part;
	int part_len, err = 0;

	vec_init(list, HOST_ADVICE_MAX);
	for (const struct tuning_rule *rule = rules; rule < rules + ARRAY_LEN(rules); rule++)
		for (size_t i = 0; i < facts->len && !err; i++) {
			fact = &facts->items[i];
			if (!fact->known ||
			    !tuning_key_fits(rule->fact, fact->key, &part, &part_len) ||
			    !tuning_holds(rule, fact->value) ||
			    !tuning_also_holds(rule, facts, part, part_len))
				continue;
			err = vec_push(list, (struct host_advice){
				.fact = fact->key, .value = fact->value, .why = rule->why,
				.source = rule->source, .change = rule->change });
		}
	return err;
}

void host_advice_vec_release(struct host_advice_vec *list)
{
	if (list)
		vec_release(list);
}
