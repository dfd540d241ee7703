/* SPDX-License-Identifier: Apache-2.0 */
#include "host/facts_collect.h"

#include "base/bug.h"
#include "host/facts_source.h"

struct fact_row {
	const char *key;
	fact_fn *collect;
	const char *arg;
};

#define SYSCTL(name) { name, fact_sysctl, NULL }
#define CPU          "devices/system/cpu/"

/* Table of all facts. Recordings depend on this order. */
static const struct fact_row fact_rows[] = {
	{ "host.name", fact_proc, "sys/kernel/hostname" },
	{ "host.machine", fact_machine, NULL },
	{ "host.vendor", fact_sys, "class/dmi/id/sys_vendor" },
	{ "host.product", fact_sys, "class/dmi/id/product_name" },
	{ "host.virtualization", fact_virtualization, NULL },
	{ "host.container", fact_container, NULL },

	{ "kernel.release", fact_proc, "sys/kernel/osrelease" },
	{ "kernel.version", fact_proc, "sys/kernel/version" },
	{ "kernel.cmdline", fact_proc, "cmdline" },
	{ "kernel.preempt", fact_preempt, NULL },
	{ "kernel.hz", fact_tick, NULL },
	{ "kernel.isolated_cpus", fact_sys, CPU "isolated" },
	{ "kernel.nohz_full_cpus", fact_sys, CPU "nohz_full" },
	{ "kernel.lockdown", fact_lockdown, NULL },

	{ "cpu.model", fact_cpu_model, NULL },
	{ "cpu.count", fact_cpu_count, CPU "online" },
	{ "cpu.online", fact_sys, CPU "online" },
	{ "cpu.smt", fact_sys, CPU "smt/control" },
	{ "cpu.numa_nodes", fact_cpu_count, "devices/system/node/online" },
	{ "cpu.frequency.driver", fact_sys_each, CPU "cpufreq:policy:scaling_driver" },
	{ "cpu.frequency.governor", fact_sys_each, CPU "cpufreq:policy:scaling_governor" },
	{ "cpu.frequency.preference", fact_sys_each,
	  CPU "cpufreq:policy:energy_performance_preference" },
	{ "cpu.frequency.min_khz", fact_sys_each, CPU "cpufreq:policy:scaling_min_freq" },
	{ "cpu.frequency.max_khz", fact_sys_each, CPU "cpufreq:policy:scaling_max_freq" },
	{ "cpu.turbo.off", fact_sys, CPU "intel_pstate/no_turbo" },
	{ "cpu.turbo.boost", fact_sys, CPU "cpufreq/boost" },
	{ "cpu.idle.driver", fact_sys, CPU "cpuidle/current_driver" },
	{ "cpu.idle.governor", fact_sys, CPU "cpuidle/current_governor" },
	{ "cpu.idle.halt_poll_ns", fact_sys, "module/haltpoll/parameters/guest_halt_poll_ns" },
	{ "cpu.idle.state", fact_idle_states, CPU "cpu0/cpuidle" },
	{ "cpu.vulnerability", fact_vulnerabilities, CPU "vulnerabilities" },
	{ "cpu.steal_percent", fact_steal, NULL },

	{ "clock.source", fact_sys, "devices/system/clocksource/clocksource0/current_clocksource" },
	{ "clock.available", fact_sys,
	  "devices/system/clocksource/clocksource0/available_clocksource" },
	{ "clock.tai_offset_s", fact_tai, NULL },
	{ "clock.synchronized", fact_clock_synchronized, NULL },
	{ "clock.max_error_us", fact_clock_error, NULL },

	{ "memory.thp", fact_sys_choice, "kernel/mm/transparent_hugepage/enabled" },
	{ "memory.thp_defrag", fact_sys_choice, "kernel/mm/transparent_hugepage/defrag" },
	{ "memory.ksm", fact_sys, "kernel/mm/ksm/run" },
	{ "memory.swap_used_kib", fact_swap, NULL },
	SYSCTL("vm.swappiness"),
	SYSCTL("vm.zone_reclaim_mode"),
	SYSCTL("vm.stat_interval"),
	SYSCTL("kernel.numa_balancing"),

	SYSCTL("kernel.timer_migration"),
	SYSCTL("kernel.nmi_watchdog"),
	SYSCTL("kernel.sched_autogroup_enabled"),
	SYSCTL("kernel.sched_rt_runtime_us"),
	SYSCTL("kernel.sched_cfs_bandwidth_slice_us"),
	SYSCTL("kernel.split_lock_mitigate"),
	SYSCTL("kernel.bpf_stats_enabled"),
	SYSCTL("kernel.unprivileged_bpf_disabled"),
	SYSCTL("kernel.perf_event_paranoid"),
	SYSCTL("kernel.io_uring_disabled"),

	SYSCTL("net.core.bpf_jit_enable"),
	SYSCTL("net.core.bpf_jit_harden"),
	SYSCTL("net.core.busy_poll"),
	SYSCTL("net.core.busy_read"),
	SYSCTL("net.core.default_qdisc"),
	SYSCTL("net.core.dev_weight"),
	SYSCTL("net.core.gro_normal_batch"),
	SYSCTL("net.core.netdev_budget"),
	SYSCTL("net.core.netdev_budget_usecs"),
	SYSCTL("net.core.netdev_max_backlog"),
	SYSCTL("net.core.netdev_tstamp_prequeue"),
	SYSCTL("net.core.rmem_default"),
	SYSCTL("net.core.rmem_max"),
	SYSCTL("net.core.rps_sock_flow_entries"),
	SYSCTL("net.core.somaxconn"),
	SYSCTL("net.core.wmem_default"),
	SYSCTL("net.core.wmem_max"),
	SYSCTL("net.ipv4.tcp_autocorking"),
	SYSCTL("net.ipv4.tcp_congestion_control"),
	SYSCTL("net.ipv4.tcp_ecn"),
	SYSCTL("net.ipv4.tcp_limit_output_bytes"),
	SYSCTL("net.ipv4.tcp_moderate_rcvbuf"),
	SYSCTL("net.ipv4.tcp_notsent_lowat"),
	SYSCTL("net.ipv4.tcp_rmem"),
	SYSCTL("net.ipv4.tcp_rto_min_us"),
	SYSCTL("net.ipv4.tcp_sack"),
	SYSCTL("net.ipv4.tcp_slow_start_after_idle"),
	SYSCTL("net.ipv4.tcp_timestamps"),
	SYSCTL("net.ipv4.tcp_wmem"),
	SYSCTL("net.ipv4.udp_rmem_min"),

	{ "irq.default_affinity", fact_proc, "irq/default_smp_affinity" },
	{ "net.softnet", fact_softnet, "net/softnet_stat" },
	{ "iface", fact_interfaces, "class/net" },
};

int host_facts_collect(const struct host_root *root, struct host_facts *facts)
{
	const struct fact_source source = { .root = host_root_or_live(root), .facts = facts };

	host_facts_init(facts);
	for (size_t i = 0; i < ARRAY_LEN(fact_rows); i++)
		fact_rows[i].collect(&source, fact_rows[i].key, fact_rows[i].arg);
	return facts->error;
}
