/* SPDX-License-Identifier: Apache-2.0 */
#include "host/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BODY_MAX   64
#define BUFFER_LEN (64 << 10)   /* the kernel fills dumps up to 32 KiB per datagram */
#define TIMEOUT_S  5

static int netlink_send_request(int fd, int type, const void *body, size_t len)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr header;
		char body[BODY_MAX];
	} request = {
		.header = {
			.nlmsg_len = NLMSG_LENGTH(len),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			.nlmsg_seq = 1,
		},
	};

	if (len > BODY_MAX)
		return -EINVAL;
	memcpy(request.body, body, len);
	if (sendto(fd, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	return 0;
}

int netlink_answers(const void *datagram, size_t size, bool *changed,
		    int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx)
{
	const struct nlmsghdr *msg = datagram;
	long len = (long)size; /* signed: negative if the last message lacks its padding */
	int err = 0;

	for (; !err && NLMSG_OK(msg, len); msg = NLMSG_NEXT(msg, len)) {
		*changed |= msg->nlmsg_flags & NLM_F_DUMP_INTR;
		if (msg->nlmsg_type == NLMSG_DONE)
			return 1;
		if (msg->nlmsg_type == NLMSG_ERROR)
			return msg->nlmsg_len < NLMSG_LENGTH(sizeof(int)) ? -EPROTO :
			       *(const int *)NLMSG_DATA(msg);
		err = visit(ctx, msg);
	}
	return err;
}

int netlink_dump(int fd, int type, const void *body, size_t len,
		 int (*visit)(void *ctx, const struct nlmsghdr *msg), void *ctx)
{
	struct timeval timeout = { .tv_sec = TIMEOUT_S };
	bool changed = false;
	ssize_t n;
	char *buf;
	int err;

	buf = malloc(BUFFER_LEN);
	if (!buf)
		return -ENOMEM;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	err = netlink_send_request(fd, type, body, len);
	while (!err) {
		n = recv(fd, buf, BUFFER_LEN, MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || n > BUFFER_LEN)
			err = n < 0 ? -errno : -EMSGSIZE;
		else
			err = netlink_answers(buf, n, &changed, visit, ctx);
	}
	free(buf);
	if (err == 1)
		err = changed ? -EAGAIN : 0;
	return err;
}

static void netlink_fill_table(const struct rtattr *attr, int len, const struct rtattr **table,
			       int max)
{
	memset(table, 0, (max + 1) * sizeof(*table));
	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len))
		if ((attr->rta_type & NLA_TYPE_MASK) <= max)
			table[attr->rta_type & NLA_TYPE_MASK] = attr;
}

void netlink_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **table, int max)
{
	size_t fixed = NLMSG_SPACE(size);

	netlink_fill_table((const void *)((const char *)msg + fixed),
			   msg->nlmsg_len > fixed ? msg->nlmsg_len - fixed : 0, table, max);
}

void netlink_nested(const struct rtattr *parent, const struct rtattr **table, int max)
{
	netlink_fill_table(parent ? RTA_DATA(parent) : NULL, parent ? RTA_PAYLOAD(parent) : 0,
			   table, max);
}

void netlink_string(const struct rtattr *attr, char *buf, size_t size)
{
	size_t n = attr ? strnlen(RTA_DATA(attr), RTA_PAYLOAD(attr)) : 0;

	if (n >= size)
		n = size - 1;
	if (n)
		memcpy(buf, RTA_DATA(attr), n);
	buf[n] = '\0';
}
