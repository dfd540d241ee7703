/* SPDX-License-Identifier: Apache-2.0 */
#include "net/stamp.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>

#include "base/parse.h"

/* SOF_TIMESTAMPING_OPT_ID_TCP, Linux 6.2: ids count from the bytes written, not acknowledged. */
#define OPT_ID_TCP (1 << 16)
/* Bytes of control messages: the stamps, the error and the address of the error's sender. */
#define CONTROL_SIZE 256

int net_stamp_enable(int fd, bool nic)
{
	int flags = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
		    SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_TX_SCHED |
		    SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
	int type = 0, domain = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return -errno;
	if (domain != AF_INET && domain != AF_INET6)
		return -EOPNOTSUPP;
	if (nic)
		flags |= SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
			 SOF_TIMESTAMPING_TX_HARDWARE;
	if (type == SOCK_STREAM) {
		flags |= SOF_TIMESTAMPING_TX_ACK | OPT_ID_TCP;
		if (!setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)))
			return 0;
		flags &= ~OPT_ID_TCP;
	}
	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) ? -errno : 0;
}

static uint64_t stamp_ns(const struct timespec *ts)
{
	return ts->tv_sec * NS_PER_S + ts->tv_nsec;
}

static bool stamp_is_error(const struct cmsghdr *cmsg)
{
	return (cmsg->cmsg_level == SOL_IP && cmsg->cmsg_type == IP_RECVERR) ||
	       (cmsg->cmsg_level == SOL_IPV6 && cmsg->cmsg_type == IPV6_RECVERR);
}

static bool stamp_is_stamp(const struct cmsghdr *cmsg)
{
	return cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_TIMESTAMPING &&
	       cmsg->cmsg_len >= CMSG_LEN(sizeof(struct scm_timestamping));
}

/* Parses a message from the error queue. Returns false for an ICMP error. */
static bool stamp_parse_tx(struct msghdr *msg, struct net_tx_stamp *out)
{
	static const enum net_stamp_kind kinds[] = {
		[SCM_TSTAMP_SND] = NET_STAMP_SND,
		[SCM_TSTAMP_SCHED] = NET_STAMP_SCHED,
		[SCM_TSTAMP_ACK] = NET_STAMP_ACK,
	};
	struct scm_timestamping ts = {};
	struct sock_extended_err error = {};
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (stamp_is_stamp(cmsg))
			memcpy(&ts, CMSG_DATA(cmsg), sizeof(ts));
		else if (stamp_is_error(cmsg))
			memcpy(&error, CMSG_DATA(cmsg), sizeof(error));
	}
	if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING || error.ee_info > SCM_TSTAMP_ACK)
		return false;
	*out = (struct net_tx_stamp){
		.kind = kinds[error.ee_info],
		.id = error.ee_data,
		.ns = stamp_ns(&ts.ts[0]),
	};
	if (ts.ts[2].tv_sec || ts.ts[2].tv_nsec) {
		out->kind = NET_STAMP_NIC;
		out->ns = stamp_ns(&ts.ts[2]);
	}
	return true;
}

int net_stamp_drain(int fd, struct net_tx_stamp out[NET_STAMP_BATCH])
{
	_Alignas(8) char control[NET_STAMP_BATCH][CONTROL_SIZE];
	struct mmsghdr msgs[NET_STAMP_BATCH] = {};
	int i, n, count = 0;

	for (i = 0; i < NET_STAMP_BATCH; i++) {
		msgs[i].msg_hdr.msg_control = control[i];
		msgs[i].msg_hdr.msg_controllen = CONTROL_SIZE;
	}
	n = recvmmsg(fd, msgs, NET_STAMP_BATCH, MSG_ERRQUEUE | MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (i = 0; i < n; i++)
		count += stamp_parse_tx(&msgs[i].msg_hdr, &out[count]);
	/*
	 * After a full batch, the error queue may hold more, but fewer than NET_STAMP_BATCH entries
	 * tell the caller that it is empty: add entries without a meaning for skipped ICMP errors.
	 */
	for (; n == NET_STAMP_BATCH && count < n; count++)
		out[count] = (struct net_tx_stamp){ .kind = NET_STAMP_KINDS };
	return count;
}

ssize_t net_stamp_recv(int fd, void *buffer, size_t size, struct net_rx_stamp *stamp)
{
	_Alignas(8) char control[CONTROL_SIZE];
	struct iovec iov = { .iov_base = buffer, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
	struct scm_timestamping ts;
	struct cmsghdr *cmsg;

	*stamp = (struct net_rx_stamp){};
	if (n < 0)
		return -errno;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (!stamp_is_stamp(cmsg))
			continue;
		memcpy(&ts, CMSG_DATA(cmsg), sizeof(ts));
		stamp->real_ns = stamp_ns(&ts.ts[0]);
		stamp->nic_ns = stamp_ns(&ts.ts[2]);
	}
	return n;
}
