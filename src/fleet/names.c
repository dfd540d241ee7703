/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes and kinds; those of classes are the limits' names in `hostlat conns`. */
#include "base/bug.h"
#include "fleet/fleet.h"

static const char *const class_names[FLEET_CLASSES] = {
	[FLEET_SEND_BUFFER] = "send-buffer",
	[FLEET_RECEIVER_WINDOW] = "receiver-window",
	[FLEET_DELAYED_ACK] = "delayed-ack",
	[FLEET_FAST_RETRANSMIT] = "fast-retransmit",
	[FLEET_TIMEOUT] = "timeout",
	[FLEET_SENDER_APP] = "sender-app",
};

static const char *const kind_names[FLEET_KINDS] = {
	[FLEET_HOST] = "host",
	[FLEET_CONTAINER] = "container",
	[FLEET_APP] = "application",
	[FLEET_SERVICE] = "service",
	[FLEET_RACK] = "rack",
	[FLEET_SWITCH] = "switch",
	[FLEET_LINK] = "link",
	[FLEET_KERNEL] = "kernel",
	[FLEET_INSTANCE] = "instance",
};

const char *fleet_class_name(unsigned int class)
{
	BUG_ON(class >= FLEET_CLASSES);
	return class_names[class];
}

const char *fleet_kind_name(unsigned int kind)
{
	BUG_ON(kind >= FLEET_KINDS);
	return kind_names[kind];
}
