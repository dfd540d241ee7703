/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * EV_CALL: one send or receive call on a TCP connection. Part of event/layout.h, whose rules hold
 * here. Only calls that return are told of, and what they returned: what a call asked for is not
 * known, nor when it began.
 */
#ifndef HOSTLAT_EVENT_LAYOUT_CALL_H
#define HOSTLAT_EVENT_LAYOUT_CALL_H

enum call_flags {
	CALL_AFTER_UNKNOWN = 1,	/* an unknown number of calls before it may be missing */
};

struct event_call {
	__u64 time;		/* when it returned */
	__u64 cookie;		/* of the connection: as struct event_conn has it */
	__u32 flow;		/* EV_FLOW; 0 = the connection is not known yet */
	__u32 netns;		/* inode */
	__u32 pid;
	__u32 tid;
	__s32 result;		/* bytes; negative: an errno, such as -EAGAIN */
	__u32 seq;		/* of the connection's log, from 1: what is missing between two was
				 * left out; so may others be, see `flags` */
	/* How the connection stood when it returned, read without a lock: */
	__u32 unsent;		/* bytes written that have not been sent */
	__u32 unacked;		/* bytes sent that are not acknowledged */
	__u32 unread;		/* bytes that came in order and were not read */
	__u8 direction;		/* enum direction: DIR_EGRESS is a send call */
	__u8 state;		/* enum conn_sample_state */
	__u16 flags;		/* enum call_flags */
};

EVENT_ASSERT(event_call, 56, flags, 54);

#endif
