/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps objects by rtnetlink. */
#ifndef HOSTLAT_HOST_NETLINK_H
#define HOSTLAT_HOST_NETLINK_H

#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Requests all objects of a kind (RTM_GETLINK ...) and calls `visit` for each message of the
 * answer. `body` of `len` bytes follows the message header. If `visit` returns non-zero, stops and
 * returns that. Returns 0 or -errno; -EAGAIN: objects changed meanwhile, repeat the call.
 */
int netlink_dump(int fd, int type, const void *body, size_t len,
		 int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx);

/*
 * Parses one datagram of netlink_dump(), at most 64 KiB, aligned to 4 bytes. Returns 1 at the end
 * of the dump; else 0, -errno, or the result of `visit`. *changed: objects changed during the dump.
 */
int netlink_answers(const void *datagram, size_t size, bool *changed,
		    int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx);

/*
 * Sets table[max + 1] to the attributes of a message by type, up to type `max`; NULL: missing.
 * `size`: bytes of the fixed part before the attributes.
 */
void netlink_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **table, int max);
/* As netlink_attrs(), for the attributes nested in `parent` (may be NULL). */
void netlink_nested(const struct rtattr *parent, const struct rtattr **table, int max);

/* Copies a string attribute into `buf`, truncated to `size`; "" if the attribute is missing. */
void netlink_string(const struct rtattr *attr, char *buf, size_t size);

#endif
