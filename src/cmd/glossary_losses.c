/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's reasons for lost packets (pkt_loss_names), and what to do about them. */
#include "cmd/glossary_rows.h"

#define FEW "A few of them do no harm. "

const struct glossary_reason glossary_losses[] = {
	{ "no-link-stamp", NULL, {
		.what = "The packet's entry in the table of link stamps was displaced, the packet "
			"came by a path that does not pass link, or the kernel made it on the way "
			"as a segment or copy that hostlat could not match.",
		.todo = "Look for a packet socket for one protocol of one device, and end it; or "
			"use --origin stack.",
		.more = "Next to such a packet socket (unlike tcpdump's, which takes all "
			"protocols) the stack continues with a copy of each packet: nearly all "
			"are lost, and some are measured up to 1 ms too long.",
	} },
	{ "stamp-zero", NULL, {
		.what = "The requested origin is a kernel stamp, and the packet had none.",
		.todo = "Use --origin auto, which takes the best origin of each packet.",
	} },
	{ "stamp-foreign", NULL, {
		.what = "The requested origin is a kernel stamp, and the packet's is of another "
			"clock, or older than 10 s.",
		.todo = "Use --origin auto, which takes the best origin of each packet.",
	} },
	{ "stamp-future", NULL, {
		.what = "The requested origin is a kernel stamp, and the packet's is in the "
			"future.",
		.todo = "Find out what sets the clock (chronyc tracking), or use --origin link.",
	} },
	{ "clock-unsettled", NULL, {
		.what = "The requested origin is a kernel stamp, and it could not be converted: "
			"the clock had just been set.",
		.todo = FEW "Otherwise find out what sets the clock, or use --origin link.",
	} },
	{ "no-storage", NULL, {
		.what = "The kernel refused memory for a socket or a task.",
		.todo = "Raise net.core.optmem_max: each receiving UDP socket takes 1.2 kB of it, "
			"whatever --memory is. Or filter with --port or --pid.",
	} },
	{ "fifo-full", NULL, {
		.what = "A socket had more unread packets, or calls with waiting bytes, than "
			"hostlat remembers.",
		.todo = "Raise --memory (for UDP). Otherwise the application reads too slowly: "
			"see hostlat conns.",
		.more = "UDP: up to 4,096 datagrams per socket, 16 of them in the socket and the "
			"rest in one table, whose size --memory sets; datagrams unread for ten "
			"seconds lose their entries to others. At segment: more than 64 send "
			"calls with waiting bytes. At acked: more than 64 packets without an "
			"acknowledgement.",
	} },
	{ "out-of-order-full", NULL, {
		.what = "A socket had more out-of-order packets than hostlat remembers.",
		.todo = "Look for losses on the path with hostlat conns.",
	} },
	{ "out-of-order-unmatched", NULL, {
		.what = "TCP merged or trimmed out-of-order data.",
		.todo = FEW "If there are many, look for losses on the path with hostlat "
			"conns.",
	} },
	{ "not-established", NULL, {
		.what = "Payload of a connection that is just beginning or ending, in a TCP state "
			"without a hook.",
		.todo = FEW "If there are many, connections are very short.",
		.more = "At socket: payload in a TCP state in which the hook does not fire, such "
			"as with the last segment of the handshake or after this end has closed "
			"the connection. At enqueued: the announced packet is unknown, or the "
			"payload came with a SYN (TCP Fast Open). At acked: the acknowledgement "
			"came in such a state, or not before the connection ended.",
	} },
	{ "rcvlowat", NULL, {
		.what = "The socket has SO_RCVLOWAT above 1: TCP does not announce each packet.",
		.todo = "Remove SO_RCVLOWAT, or measure without runnable and running (--stages).",
	} },
	{ "netns-not-covered", NULL, {
		.what = "At ip and transport: the socket's network namespace has no hook.",
		.todo = "See hostlat help namespace-not-covered.",
	} },
	{ "delivery-race", NULL, {
		.what = "Other threads delivered to the same UDP socket, or read from it, at the "
			"same moment, so that the packet could not be matched.",
		.todo = FEW "SO_REUSEPORT gives each thread a socket of its own.",
	} },
	{ "fifo-desync", NULL, {
		.what = "The socket was read in a way that hostlat does not see; its stamps were "
			"dropped.",
		.todo = FEW "If there are many, please report how the application reads.",
	} },
	{ "unsupported-splice", NULL, {
		.what = "Read by splice, sendfile, TCP_ZEROCOPY_RECEIVE or a reader in the "
			"kernel: the time of the read is unknown.",
		.todo = "The stages up to enqueued hold for them: leave the later ones out with "
			"--stages.",
	} },
	{ "mixed-origins", NULL, {
		.what = "One read returned packets of two origins: packets unlike the oldest one "
			"are lost.",
		.todo = "Use one origin for all packets: --origin link.",
	} },
	{ "mixed-groups", NULL, {
		.what = "One read returned packets of two groups (--by): packets unlike the oldest "
			"one are lost.",
		.todo = "Group by what a connection keeps: cgroup, port or netns.",
	} },
	{ "culprits-full", NULL, {
		.what = "Not a packet, but a reader's wait for a CPU: 1,024 other tasks are named "
			"already.",
		.todo = "Measure for a shorter time, or filter with --pid or --cgroup.",
	} },
	{ "displaced", NULL, {
		.what = "More packets were in queueing disciplines than the table of steps holds "
			"(4,096, in sets of two).",
		.todo = "Select fewer: --ifname, --port, --sample.",
	} },
	{ "no-send-call", NULL, {
		.what = "The bytes were sent before the start, or not by a send call of TCP or UDP "
			"(for example by a kernel thread).",
		.todo = "Start hostlat before the load. Senders in the kernel cannot be measured "
			"at segment.",
	} },
	{ "negative", NULL, {
		.what = "The difference of two clocks was below zero.",
		.todo = FEW "Otherwise use --origin link, which needs one clock only.",
	} },
	{ "mptcp", NULL, {
		.what = "A packet of a Multipath TCP subflow, which MPTCP moves to a queue of its "
			"own and announces there. It is measured up to socket.",
		.todo = "Leave the later stages out with --stages, or turn MPTCP off for a test.",
		.more = "With --pid, read calls on MPTCP sockets are counted instead of packets, "
			"from Linux 6.3 on.",
	} },
	{ "queue-unknown", NULL, {
		.what = "--min-queue: the packet found too few others, but hostlat had not seen "
			"all packets of that queue.",
		.todo = "Start hostlat before the traffic.",
		.more = "Some came before the start or under SO_RCVLOWAT, or there were too many.",
	} },
	{ "recursion", NULL, {
		.what = "The hook's program was interrupted by itself on its CPU, so the kernel "
			"skipped it. This counts all traffic, whatever the filter.",
		.todo = FEW "If there are many, leave the stage out with --stages, or choose "
			"another hook with --backend.",
	} },
	{ NULL, NULL, {} },
};
