/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's causes of slow messages. */
#include "cmd/glossary_rows.h"

#include "diagnose/cause.h"

const struct glossary_text glossary_causes[CAUSE_MAX] = {
	[CAUSE_CPU_WAIT] = {
		.what = "The reader was runnable, and another task had its CPU: the culprit. A job "
			"of many short processes is one culprit for each command.",
		.todo = "Move one of the two to another CPU (taskset, cpuset), or give the reader "
			"a higher priority (chrt, nice, cpu.weight). A burst of jobs such as cron "
			"can be moved or throttled instead.",
	},
	[CAUSE_STOPPED] = {
		.what = "A signal (SIGSTOP) or a tracer, such as strace or a debugger, stopped the "
			"reader.",
		.todo = "End the tracer, or find out who sends the signal. A frozen control group "
			"(cgroup.freeze) stops its tasks, too.",
	},
	[CAUSE_THROTTLED] = {
		.what = "The reader was runnable and its CPU was idle for over 1 ms, while a CPU "
			"quota held some control group back.",
		.todo = "Raise or remove the quota (cpu.max; of a container its CPU limit), or use "
			"fewer threads than the quota has CPUs.",
	},
	[CAUSE_CORE_STALL] = {
		.what = "The reader was runnable, its CPU was called and did not start. No CPU "
			"quota was in force.",
		.todo = "On a virtual machine the hypervisor ran something else: ask for dedicated "
			"CPUs. On a real machine look for firmware interrupts (SMI), and limit "
			"deep idle states; see hostlat doctor --tuning.",
	},
	[CAUSE_LOCK] = {
		.what = "The reader slept in a futex or in the kernel until another task woke it: "
			"the culprit.",
		.todo = "Look at what the culprit does while it holds the lock; hold it for less "
			"time, or split it.",
	},
	[CAUSE_IO_WAIT] = {
		.what = "The reader slept for a file or a device.",
		.todo = "Keep files, logs and fsync out of the thread that answers requests, or "
			"use a faster device.",
	},
	[CAUSE_INTERRUPT] = {
		.what = "An interrupt handler had the reader's CPU.",
		.todo = "Move the interrupt to another CPU (/proc/irq/N/smp_affinity), or the "
			"reader away from it. Interrupt coalescing makes them fewer.",
	},
	[CAUSE_SOFTIRQ] = {
		.what = "A softirq had the reader's CPU. Kernel threads that do softirq work "
			"(ksoftirqd, napi) count as softirq.",
		.todo = "Spread the work that caused it: more receive queues, RPS, or interrupts "
			"on other CPUs than the reader's.",
	},
	[CAUSE_PAGE_FAULT] = {
		.what = "The reader slept in a page fault, which reads the page or waits for "
			"another fault.",
		.todo = "Lock the memory (mlockall), avoid swap, and touch large buffers before "
			"requests come. Look at transparent huge pages; see hostlat doctor "
			"--tuning.",
	},
	[CAUSE_IDLE_EXIT] = {
		.what = "The reader was runnable, and its CPU was still leaving an idle state.",
		.todo = "Limit idle states (/dev/cpu_dma_latency, a tuned profile, or the "
			"governor); see hostlat doctor --tuning.",
	},
	[CAUSE_HEAD_OF_LINE] = {
		.what = "The reader served another message: the culprit.",
		.todo = "Use more threads or processes, spread connections evenly over them, and "
			"keep expensive requests apart from cheap ones.",
		.more = "While that message was itself held up by a lock, a stop or for a CPU, the "
			"time is charged to that cause.",
	},
	[CAUSE_OTHER_RECEIVE] = {
		.what = "Receive work for other packets ran on the reader's CPU.",
		.todo = "Steer that traffic, or the reader, to another CPU: receive queues and "
			"their interrupts, RPS, or the reader's affinity.",
		.more = "The culprits are the readers and connections of those packets, where the "
			"recording has their messages. Other packets (other ports, "
			"acknowledgements, forwarded packets, later packets of a message) are "
			"softirq net-rx.",
	},
	[CAUSE_KERNEL_QUEUE] = {
		.what = "Earlier packets were brought to their sockets first, by the same CPU in "
			"the same softirqs. The culprits are their readers and connections.",
		.todo = "Use more receive queues or RPS, so that packets of others do not share a "
			"CPU with these.",
		.more = "Packets of no recorded message count as function.",
	},
	[CAUSE_APPLICATION] = {
		.what = "The reader's own work, or a sleep for something other than this message.",
		.todo = "Profile the application (perf record -t TID), or divide its work with "
			"hostlat record --boundary mark. With --activity funcgraph, the "
			"kernel's part of it is divided into functions.",
	},
	[CAUSE_FUNCTION] = {
		.what = "The kernel's work for this message until its reader was woken; for a "
			"sent message, the send call itself.",
		.todo = "Record with --activity funcgraph to see which functions took longer. "
			"Firewall rules, tunnels and packet taps are the usual ones.",
	},
	[CAUSE_WINDOW] = {
		.what = "The message waited in its socket, or the call slept for room there.",
		.todo = "Find out what limits the connection with hostlat conns: the peer's "
			"window, the congestion window, the send buffer, Nagle or losses.",
		.more = "It may wait for the peer's window, the congestion window, more data "
			"(Nagle, MSG_MORE), a retransmission, or behind earlier packets of its "
			"own.",
	},
	[CAUSE_PACING] = {
		.what = "The message was not due to leave: TCP paced it (SO_MAX_PACING_RATE, BBR), "
			"or the queueing discipline did (fq).",
		.todo = "Pacing is meant to delay. If the rate is too low, raise "
			"SO_MAX_PACING_RATE or fq's maxrate.",
	},
	[CAUSE_QDISC] = {
		.what = "The message was in the device's queueing discipline (a shaper, a full "
			"device, packets of others), or behind an earlier message of its socket "
			"that was there: the culprit.",
		.todo = "Look for a shaper (tc qdisc show), and for bulk traffic on the same "
			"device. Use fq or fq_codel so that flows share the device fairly.",
	},
	[CAUSE_NETWORK] = {
		.what = "The request had left the client's stack and was not at the server's yet, "
			"or its reply was on the way back. Only explain tells it.",
		.todo = "On one host this is the loopback or a virtual device: look at the softirq "
			"and the CPU that serve it. Between hosts use hostlat conns for losses "
			"and queues.",
	},
	[CAUSE_HOSTLAT] = {
		.what = "The recording hostlat had the CPU.",
		.effect = "This part of the latency is the measurement's own and would not be "
			  "there without it.",
		.todo = "Record less: --port or --pid, a shorter run (--for), no --activity "
			"funcgraph. hostlat load's threads need a CPU of their own.",
	},
	[CAUSE_NOT_RECORDED] = {
		.what = "A CPU's events are missing for that time. Sentences say \"not recorded\".",
		.effect = "It is never part of the coverage: nobody knows what happened then.",
		.todo = "Record less at once, so that no event is lost: --port or --pid, a "
			"shorter run (--for), no --activity funcgraph.",
	},
	[CAUSE_UNEXPLAINED] = {
		.what = "The time is known and within the noise, or the reader slept for a reason "
			"that the recording does not contain.",
		.effect = "It is never part of the coverage.",
		.todo = "Record longer, so that the baseline has more messages, or with "
			"--activity funcgraph.",
	},
	[CAUSE_EXPECTED] = {
		.what = "The time that the baseline, the usual messages of the application, takes "
			"as well.",
		.effect = "It is not a cause: a message's parts add up to its latency with it.",
		.todo = "If the usual latency is the problem, compare with another baseline: "
			"--against fastest, or a recording of a better time.",
	},
	[CAUSE_OFFSET] = {
		.what = "The time by which the message was faster than the baseline in some of "
			"its parts; negative.",
		.effect = "It is not a cause: a message's parts add up to its latency with it.",
		.todo = "Nothing. A large offset says that the message took another way than the "
			"baseline's messages.",
	},
};
