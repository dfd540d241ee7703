/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/advice.h"

#include <stddef.h>

#include "base/bug.h"

/* Owners of resources: each kind of resource is the work of one. */
enum owner { OWNER_HOST, OWNER_APPLICATION, OWNER_SERVICE, OWNER_NETWORK, OWNER_PLATFORM, OWNERS };

static const enum owner owners[FLEET_KINDS] = {
	[FLEET_HOST] = OWNER_HOST,
	[FLEET_CONTAINER] = OWNER_APPLICATION,
	[FLEET_APP] = OWNER_APPLICATION,
	[FLEET_SERVICE] = OWNER_SERVICE,
	[FLEET_RACK] = OWNER_NETWORK,
	[FLEET_SWITCH] = OWNER_NETWORK,
	[FLEET_LINK] = OWNER_NETWORK,
	[FLEET_KERNEL] = OWNER_PLATFORM,
	[FLEET_INSTANCE] = OWNER_PLATFORM,
};

/* Losses are found by a timer or without one: what to look at is the same. */
#define LOSSES_AT_HOST                                                                             \
	"check `ethtool -S` and `tc -s qdisc` there, then its cable and switch port"
#define LOSSES_AT_SERVICE                                                                          \
	"look for an overloaded last hop: many senders answer this service at once"
#define LOSSES_IN_NETWORK "check its ports' drop and error counters, then cable and optics"
#define LOSSES_BY_PLATFORM                                                                         \
	"compare driver, firmware and offloads (`ethtool -i`, -k) with those of the others"

struct class_words {
	const char *label;
	const char *advice[OWNERS];
};

static const struct class_words words[FLEET_CLASSES] = {
	[FLEET_SEND_BUFFER] = {
		.label = "full send buffers",
		.advice = {
			[OWNER_HOST] = "compare net.ipv4.tcp_wmem and net.ipv4.tcp_mem with those "
				       "of the other hosts",
			[OWNER_APPLICATION] = "remove SO_SNDBUF from the application, or raise it "
					      "to twice the congestion window",
			[OWNER_SERVICE] = "raise the third value of net.ipv4.tcp_wmem at the "
					  "senders: the path to this service holds more data",
			[OWNER_NETWORK] = "raise the third value of net.ipv4.tcp_wmem at the "
					  "senders: this path holds more data, or it delays "
					  "acknowledgements",
			[OWNER_PLATFORM] = "compare the defaults of net.ipv4.tcp_wmem and "
					   "net.ipv4.tcp_mem with those of the others",
		},
	},
	[FLEET_RECEIVER_WINDOW] = {
		.label = "receiver windows",
		.advice = {
			[OWNER_HOST] = "run `hostlat conns` on the receivers: they read too "
				       "slowly, or their net.ipv4.tcp_rmem is small",
			[OWNER_APPLICATION] = "make the receiving side read sooner, or remove its "
					      "SO_RCVBUF",
			[OWNER_SERVICE] = "run `hostlat conns` on the hosts of this service: they "
					  "read too slowly, or their SO_RCVBUF is small",
			[OWNER_NETWORK] = "raise net.ipv4.tcp_rmem at the receivers: the path's "
					  "round trip is long for their windows",
			[OWNER_PLATFORM] = "compare the defaults of net.ipv4.tcp_rmem with those "
					   "of the others",
		},
	},
	[FLEET_DELAYED_ACK] = {
		.label = "delayed ACKs",
		.advice = {
			[OWNER_HOST] = "run `hostlat conns` there: its applications wait for ACKs "
				       "that their peers delay",
			[OWNER_APPLICATION] = "write a whole message with one call, or set "
					      "TCP_NODELAY; do not wait for an ACK before the next "
					      "write",
			[OWNER_SERVICE] = "let the service answer at once, or set TCP_QUICKACK "
					  "there; at the clients set TCP_NODELAY",
			[OWNER_NETWORK] = "look at the applications that use it: networks do not "
					  "delay ACKs, except some middleboxes",
			[OWNER_PLATFORM] = "compare the kernels' delayed-ACK timers and "
					   "`ip route` quickack with those of the others",
		},
	},
	[FLEET_FAST_RETRANSMIT] = {
		.label = "fast retransmissions",
		.advice = {
			[OWNER_HOST] = LOSSES_AT_HOST,
			[OWNER_APPLICATION] = "spread its bursts: pace them (SO_MAX_PACING_RATE or "
					      "fq), or limit concurrent answers",
			[OWNER_SERVICE] = LOSSES_AT_SERVICE,
			[OWNER_NETWORK] = LOSSES_IN_NETWORK,
			[OWNER_PLATFORM] = LOSSES_BY_PLATFORM,
		},
	},
	[FLEET_TIMEOUT] = {
		.label = "retransmission timeouts",
		.advice = {
			[OWNER_HOST] = LOSSES_AT_HOST,
			[OWNER_APPLICATION] = "send requests over one connection instead of many: "
					      "too few packets follow a lost one",
			[OWNER_SERVICE] = LOSSES_AT_SERVICE,
			[OWNER_NETWORK] = LOSSES_IN_NETWORK,
			[OWNER_PLATFORM] = LOSSES_BY_PLATFORM,
		},
	},
	[FLEET_SENDER_APP] = {
		.label = "waiting for the application",
		.advice = {
			[OWNER_HOST] = "run `hostlat explain` or `hostlat watch` there",
			[OWNER_APPLICATION] = "run `hostlat diagnose` on one of its hosts",
			[OWNER_SERVICE] = "run `hostlat diagnose` on a host of the service",
			[OWNER_NETWORK] = "look at the applications that use it",
			[OWNER_PLATFORM] = "compare CPU time and settings with the others",
		},
	},
};

const char *fleet_class_label(enum fleet_class class)
{
	BUG_ON(class >= FLEET_CLASSES);
	return words[class].label;
}

const char *fleet_advice(enum fleet_class class, enum fleet_kind kind)
{
	BUG_ON(class >= FLEET_CLASSES || kind >= FLEET_KINDS);
	return words[class].advice[owners[kind]];
}

bool fleet_advice_is_for(enum fleet_audience reader, enum fleet_class class, enum fleet_kind kind)
{
	const bool lost = class == FLEET_FAST_RETRANSMIT || class == FLEET_TIMEOUT;
	const enum owner owner = owners[kind];

	switch (reader) {
	case FLEET_FOR_NETWORK:
		return owner == OWNER_NETWORK || (lost && owner != OWNER_APPLICATION);
	case FLEET_FOR_APPLICATION:
		return owner == OWNER_APPLICATION || owner == OWNER_SERVICE;
	default:
		return true;
	}
}
