/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * EV_CALL: one send or receive call on a TCP connection. Part of event/layout.h, whose rules hold
 * here. Calls are recorded when they return, with their result: the requested size and the begin
 * are unknown.
 */
#ifndef HOSTLAT_EVENT_LAYOUT_CALL_H
#define HOSTLAT_EVENT_LAYOUT_CALL_H

enum call_flags {
	CALL_AFTER_UNKNOWN = 1,	/* an unknown number of earlier calls may be missing */
};

struct event_call {
	__u64 time;		/* when the call returned */
	__u64 cookie;		/* cookie of the connection's socket */
	__u32 flow;		/* EV_FLOW; 0: the connection is not known yet */
	__u32 netns;		/* inode */
	__u32 pid;
	__u32 tid;
	__s32 result;		/* bytes; negative: an errno, such as -EAGAIN */
	/*
	 * number in the connection's log, from 1; a gap means calls that were not logged. With
	 * CALL_AFTER_UNKNOWN in `flags`, more calls may be missing
	 */
	__u32 seq;
	/* members unsent to state: the connection at the call's return, read without a lock */
	__u32 unsent;		/* bytes written but not sent */
	__u32 unacked;		/* bytes sent but not acknowledged */
	__u32 unread;		/* bytes received in order but not read */
	__u8 direction;		/* enum direction: DIR_EGRESS is a send call */
	__u8 state;		/* enum conn_sample_state */
	__u16 flags;		/* enum call_flags */
};

EVENT_ASSERT(event_call, 56, flags, 54);

#endif
