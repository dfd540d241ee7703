/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of rtnetlink. */
#ifndef HOSTLAT_HOST_NETLINK_H
#define HOSTLAT_HOST_NETLINK_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Asks for all objects of a kind (RTM_GETLINK ...) and calls `visit` for each message of the
 * answer. `body` of `len` bytes follows the message header. Stops when `visit` returns non-zero
 * and returns that. -EAGAIN: the set changed meanwhile; ask again.
 */
int netlink_dump(int fd, int type, const void *body, size_t len,
		 int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx);

/*
 * Parses one datagram of netlink_dump(), at most 64 KiB, aligned to 4. Returns 1 at the end of the
 * dump; else 0, -errno, or what `visit` returned. *changed becomes true if the set did.
 */
int netlink_answers(const void *datagram, size_t size, bool *changed,
		    int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx);

/*
 * The attributes of a message by type, for types up to `max`: table[max + 1], NULL where there
 * is none. `size` is that of the fixed part that stands before them.
 */
void netlink_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **table, int max);
/* The same for attributes nested in `parent` (may be NULL). */
void netlink_nested(const struct rtattr *parent, const struct rtattr **table, int max);

/* A string attribute into `buf`, cut to `size`; "" without one. */
void netlink_string(const struct rtattr *attr, char *buf, size_t size);

#endif
