// SPDX-License-Identifier: Apache-2.0
#include "event/names.h"

#include <stddef.h>
#include <string.h>

#include "base/bug.h"

struct word {
	const char *name;
	const char *meaning;
};

static const struct word stages[STAGE_MAX] = {
	[STAGE_NONE] = { "none", "no stage" },
	[STAGE_NIC] = { "nic", "the NIC's hardware timestamp" },
	[STAGE_IRQ] = { "irq", "the interrupt handler runs" },
	[STAGE_POLL] = { "poll", "the driver's NAPI poll runs" },
	[STAGE_LINK] = { "link", "the stack receives the packet" },
	[STAGE_IP] = { "ip", "IP processing starts" },
	[STAGE_TRANSPORT] = { "transport", "TCP or UDP gets the packet" },
	[STAGE_ENQUEUED] = { "enqueued", "the payload is in the socket's queue" },
	[STAGE_RUNNABLE] = { "runnable", "the reader was woken" },
	[STAGE_RUNNING] = { "running", "the reader got a CPU" },
	[STAGE_READ] = { "read", "the application has the bytes" },
	[STAGE_SEND] = { "send", "the application's send call enters" },
	[STAGE_SEGMENT] = { "segment", "TCP lets the packet go" },
	[STAGE_QDISC] = { "qdisc", "the packet enters the queueing discipline" },
	[STAGE_DRIVER] = { "driver", "the driver's xmit is called" },
	[STAGE_SENT] = { "sent", "transmit completion" },
	[STAGE_NIC_TX] = { "nic-tx", "the NIC's hardware transmit timestamp" },
	[STAGE_ACKED] = { "acked", "the peer acknowledged it" },
	[STAGE_PROBE] = { "probe", "the function or tracepoint of --probe is called" },
	[STAGE_MARK] = { "mark", "the application's end mark fires" },
	[STAGE_SOCKET] = { "socket", "TCP processes the segment on its socket" },
};

static const struct word origins[ORIGIN_MAX] = {
	[ORIGIN_NONE] = { "none", "no origin" },
	[ORIGIN_NIC] = { "nic", "the NIC's receive stamp, converted" },
	[ORIGIN_RAISE] = { "raise", "the interrupt or softirq raise on that CPU" },
	[ORIGIN_LINK] = { "link", "our own stamp when the stack receives the packet" },
	[ORIGIN_STACK] = { "stack", "the kernel's software receive stamp" },
	[ORIGIN_DELIVER] = { "deliver", "the kernel's stamp at local delivery" },
	[ORIGIN_SENDER] = { "sender", "the stamp that the local sender left" },
	[ORIGIN_DEPARTURE] = { "departure", "TCP's own departure time in the packet" },
	[ORIGIN_SEND] = { "send", "the application's send call" },
};

static const struct word directions[DIR_MAX] = {
	[DIR_INGRESS] = { .name = "ingress" },
	[DIR_EGRESS] = { .name = "egress" },
};

static const struct word protocols[PROTO_MAX] = {
	[PROTO_ANY] = { .name = "any" },
	[PROTO_TCP] = { .name = "tcp" },
	[PROTO_UDP] = { .name = "udp" },
};

static const struct word dists[DIST_MAX] = {
	[DIST_LATENCY] = { .name = "latency" },
	[DIST_STEP] = { .name = "step" },
	[DIST_YOUNGEST] = { .name = "youngest" },
	[DIST_CPU_WAIT] = { .name = "cpu-wait" },
	[DIST_PACING] = { .name = "pacing" },
	[DIST_HOL] = { .name = "hol" },
	[DIST_GRO] = { .name = "gro" },
	[DIST_BACKLOG] = { .name = "backlog" },
};

static const struct word dicts[DICT_MAX] = {
	[DICT_STRING] = { .name = "string" },
	[DICT_IFACE] = { .name = "interface" },
	[DICT_CGROUP] = { .name = "cgroup" },
	[DICT_NETNS] = { .name = "netns" },
	[DICT_UNIT] = { .name = "unit" },
	[DICT_SYMBOL] = { .name = "symbol" },
	[DICT_TASK] = { .name = "task" },
};

static const struct word group_keys[GROUP_KEY_MAX] = {
	[GROUP_NONE] = { .name = "none" },
	[GROUP_CGROUP] = { .name = "cgroup" },
	[GROUP_NETNS] = { .name = "netns" },
	[GROUP_IFINDEX] = { .name = "ifindex" },
	[GROUP_PORT] = { .name = "port" },
	[GROUP_CPU] = { .name = "cpu" },
	[GROUP_RXQ] = { .name = "rxq" },
	[GROUP_COMM] = { .name = "comm" },
	[GROUP_PID] = { .name = "pid" },
};

static const struct word loss_whys[LOSS_WHY_MAX] = {
	[LOSS_NONE] = { .name = "none" },
	[LOSS_SIZE_LIMIT] = { .name = "size-limit" },
	[LOSS_WRITE_ERROR] = { .name = "write-error" },
	[LOSS_DICT_FULL] = { .name = "dictionary-full" },
	[LOSS_OUT_OF_ORDER] = { .name = "out-of-order" },
	[LOSS_TOO_DEEP] = { .name = "too-deep" },
	[LOSS_PRODUCER] = { .name = "producer" },
};

static const struct word span_types[SPAN_TYPE_MAX] = {
	[SPAN_NONE] = { .name = "none" },
	[SPAN_TASK] = { .name = "task" },
	[SPAN_IDLE] = { .name = "idle" },
	[SPAN_HARDIRQ] = { .name = "hardirq" },
	[SPAN_SOFTIRQ] = { .name = "softirq" },
	[SPAN_POLL] = { .name = "poll" },
	[SPAN_SYSCALL] = { .name = "syscall" },
	[SPAN_FUNCTION] = { .name = "function" },
	[SPAN_FAULT] = { .name = "fault" },
	[SPAN_BLIND] = { .name = "blind" },
};

static const struct word kinds[EV_KIND_MAX] = {
	[EV_NONE] = { .name = "none" },
	[EV_FACT] = { .name = "fact" },
	[EV_NAME] = { .name = "name" },
	[EV_CLOCK] = { .name = "clock" },
	[EV_HIST] = { .name = "hist" },
	[EV_COUNT] = { .name = "count" },
	[EV_BINDING] = { .name = "binding" },
	[EV_SHARE] = { .name = "share" },
	[EV_CULPRIT] = { .name = "culprit" },
	[EV_INTERVAL] = { .name = "interval" },
	[EV_GROUP] = { .name = "group" },
	[EV_LOSS] = { .name = "loss" },
	[EV_DOMAIN] = { .name = "domain" },
	[EV_CLOCK_PARAM] = { .name = "clock-param" },
	[EV_FLOW] = { .name = "flow" },
	[EV_MESSAGE] = { .name = "message" },
	[EV_BLOB] = { .name = "blob" },
	[EV_LOAD] = { .name = "load" },
	[EV_NOISE] = { .name = "noise" },
	[EV_SLOW] = { .name = "slow" },
	[EV_QUEUE] = { .name = "queue" },
	[EV_SOFTNET] = { .name = "softnet" },
	[EV_PRESSURE] = { .name = "pressure" },
	[EV_EDGE] = { .name = "edge" },
	[EV_SAMPLE] = { .name = "sample" },
	[EV_CONN] = { .name = "conn" },
	[EV_WAKE] = { .name = "wake" },
	[EV_CALL] = { .name = "call" },
};

static const char *name_of(const struct word *words, size_t n, unsigned int value)
{
	return value < n && words[value].name ? words[value].name : "unknown";
}

static const char *meaning_of(const struct word *words, size_t n, unsigned int value)
{
	return value < n && words[value].meaning ? words[value].meaning : "unknown";
}

/* "none" in place 0 stands for the absence of a value: nobody can ask for it by name. */
static int value_of(const struct word *words, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (words[i].name && strcmp(words[i].name, name) == 0)
			return i == 0 && strcmp(name, "none") == 0 ? -1 : (int)i;
	}
	return -1;
}

const char *stage_name(unsigned int stage)
{
	return name_of(stages, ARRAY_LEN(stages), stage);
}

int stage_parse(const char *name)
{
	return value_of(stages, ARRAY_LEN(stages), name);
}

const char *stage_reached_when(unsigned int stage)
{
	return meaning_of(stages, ARRAY_LEN(stages), stage);
}

enum direction stage_direction(unsigned int stage)
{
	return stage >= STAGE_SEND && stage < STAGE_PROBE ? DIR_EGRESS : DIR_INGRESS;
}

unsigned int stage_place(unsigned int stage)
{
	if (stage == STAGE_SOCKET)
		return STAGE_TRANSPORT + 1;
	return stage > STAGE_TRANSPORT && stage < STAGE_SOCKET ? stage + 1 : stage;
}

unsigned int stage_at_place(unsigned int place)
{
	if (place == STAGE_TRANSPORT + 1)
		return STAGE_SOCKET;
	return place > STAGE_TRANSPORT && place <= STAGE_SOCKET ? place - 1 : place;
}

bool stage_was_socket(unsigned int stage, unsigned int protocol, const char *hook)
{
	return stage == STAGE_TRANSPORT && protocol == PROTO_TCP && hook &&
	       (strcmp(hook, "tcp_probe") == 0 || strcmp(hook, "tcp_rcv_established") == 0);
}

const char *origin_name(unsigned int origin)
{
	return name_of(origins, ARRAY_LEN(origins), origin);
}

int origin_parse(const char *name)
{
	return value_of(origins, ARRAY_LEN(origins), name);
}

const char *origin_meaning(unsigned int origin)
{
	return meaning_of(origins, ARRAY_LEN(origins), origin);
}

const char *direction_name(unsigned int direction)
{
	return name_of(directions, ARRAY_LEN(directions), direction);
}

int direction_parse(const char *name)
{
	return value_of(directions, ARRAY_LEN(directions), name);
}

const char *protocol_name(unsigned int protocol)
{
	return name_of(protocols, ARRAY_LEN(protocols), protocol);
}

int protocol_parse(const char *name)
{
	return value_of(protocols, ARRAY_LEN(protocols), name);
}

const char *dist_name(unsigned int dist)
{
	return name_of(dists, ARRAY_LEN(dists), dist);
}

const char *dict_name(unsigned int dict)
{
	return name_of(dicts, ARRAY_LEN(dicts), dict);
}

const char *group_key_name(unsigned int key)
{
	return name_of(group_keys, ARRAY_LEN(group_keys), key);
}

int group_key_parse(const char *name)
{
	return value_of(group_keys, ARRAY_LEN(group_keys), name);
}

const char *loss_why_name(unsigned int why)
{
	return name_of(loss_whys, ARRAY_LEN(loss_whys), why);
}

const char *span_type_name(unsigned int type)
{
	return name_of(span_types, ARRAY_LEN(span_types), type);
}

const char *event_kind_name(unsigned int kind)
{
	return name_of(kinds, ARRAY_LEN(kinds), kind);
}

int event_kind_parse(const char *name)
{
	return value_of(kinds, ARRAY_LEN(kinds), name);
}
