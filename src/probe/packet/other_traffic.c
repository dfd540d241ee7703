/* SPDX-License-Identifier: Apache-2.0 */
/* Counts packets that no stage covers, by protocol: ICMP, tunnels, forwarded packets. */
#include <stdio.h>
#include <string.h>

#include "probe/packet/hook_select.h"
#include "probe/packet/pkt_internal.h"

/* Protocol names as in /etc/protocols; other protocols are shown by number. */
static const char *const names[256] = {
	[1] = "icmp", [2] = "igmp", [4] = "ipip", [6] = "tcp", [17] = "udp", [33] = "dccp",
	[41] = "ipv6", [47] = "gre", [50] = "esp", [51] = "ah", [58] = "icmpv6", [89] = "ospf",
	[103] = "pim", [112] = "vrrp", [132] = "sctp", [136] = "udplite",
};

int pkt_describe_other_traffic(const struct pkt_probe *probe, struct event_sink *sink, uint64_t now)
{
	const char *why;

	pkt_counts_other_traffic(probe, &why);
	return event_put_fact(sink, now, "other-traffic", why ? why : "counted");
}

static int other_traffic_put_count(struct event_sink *sink, struct event_dict *dict, uint64_t now,
				   uint8_t what, uint32_t protocol, uint64_t count)
{
	struct event_count e = { .what = what, .direction = DIR_INGRESS, .count = count,
				 .flags = COUNT_EXACT };
	char number[16];

	snprintf(number, sizeof(number), "ip-%u", protocol);
	e.reason = event_dict_intern(dict, DICT_STRING,
				     names[protocol] ? names[protocol] : number, sink, now);
	return event_put(sink, EV_COUNT, now, &e, sizeof(e));
}

static void other_traffic_sum(const struct pkt_probe *probe, struct cpu_uncovered *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++) {
		const struct cpu_uncovered *from = &pkt_cpu(probe, cpu)->uncovered;

		for (int i = 0; i < 256; i++) {
			sum->local[i] += from->local[i];
			sum->forwarded[i] += from->forwarded[i];
		}
	}
}

int pkt_put_other_traffic(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
		 uint64_t now)
{
	struct cpu_uncovered sum, *before = &probe->uncovered_before;
	int err = 0;

	other_traffic_sum(probe, &sum);
	for (int i = 0; sink && i < 256 && !err; i++) {
		if (sum.local[i] != before->local[i])
			err = other_traffic_put_count(sink, dict, now, COUNT_UNCOVERED, i,
						      sum.local[i] - before->local[i]);
		if (!err && sum.forwarded[i] != before->forwarded[i])
			err = other_traffic_put_count(sink, dict, now, COUNT_FORWARDED, i,
						      sum.forwarded[i] - before->forwarded[i]);
	}
	*before = sum;
	return err;
}
