/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network card that stamps, for a program that is run with this in LD_PRELOAD: what the kernel
 * stamps in software, on loopback, comes as the card's stamp, by a clock that is 37 s ahead of
 * realtime and runs faster by 50 ppm. FAKENIC_LIE_NS: the clock's readings are off by so much. What
 * the card is set to is written to the file FAKENIC_LOG.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>

#define NS_PER_S 1000000000LL
#define BASE (1700000000 * NS_PER_S)

static struct hwtstamp_config config;

static int64_t card(int64_t real)
{
	return real + 37 * NS_PER_S + (real - BASE) / 20000;
}

static int64_t lie(void)
{
	const char *text = getenv("FAKENIC_LIE_NS");

	return text ? atoll(text) : 0;
}

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static struct ptp_clock_time from_ns(int64_t ns)
{
	return (struct ptp_clock_time){ .sec = ns / NS_PER_S, .nsec = ns % NS_PER_S };
}

static int read_clock(struct ptp_sys_offset_extended *readings)
{
	for (unsigned int i = 0; i < readings->n_samples; i++) {
		readings->ts[i][0] = from_ns(real_ns());
		readings->ts[i][1] = from_ns(card(real_ns()) + lie());
		readings->ts[i][2] = from_ns(real_ns());
	}
	return 0;
}

static int tell(struct ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = 7;
	info->tx_types = 1 << HWTSTAMP_TX_ON;
	info->rx_filters = 1 << HWTSTAMP_FILTER_ALL;
	return 0;
}

static int set(const struct hwtstamp_config *to)
{
	FILE *log = fopen(getenv("FAKENIC_LOG"), "a");

	config = *to;
	fprintf(log, "%d %d\n", to->tx_type, to->rx_filter);
	fclose(log);
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
	const struct ifreq *ifr;
	va_list list;
	void *arg;

	va_start(list, request);
	ifr = arg = va_arg(list, void *);
	va_end(list);
	if (request == PTP_SYS_OFFSET_EXTENDED)
		return read_clock(arg);
	if (request == SIOCETHTOOL && *(uint32_t *)ifr->ifr_data == ETHTOOL_GET_TS_INFO)
		return tell((void *)ifr->ifr_data);
	if (request == SIOCSHWTSTAMP)
		return set((const void *)ifr->ifr_data);
	if (request != SIOCGHWTSTAMP)
		return next(fd, request, arg);
	memcpy(ifr->ifr_data, &config, sizeof(config));
	return 0;
}

/* The headers name it as they do for the program, which is built with the same flags. */
int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	return next(strcmp(path, "/dev/ptp7") ? path : "/dev/null", flags, mode);
}

static int is_left(struct msghdr *msg)
{
	struct sock_extended_err error = { .ee_info = SCM_TSTAMP_SND };
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR)
			memcpy(&error, CMSG_DATA(c), sizeof(error));
	}
	return error.ee_info == SCM_TSTAMP_SND;
}

static void stamp(struct msghdr *msg, int sent)
{
	struct scm_timestamping ts;
	struct cmsghdr *c;
	int64_t ns;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING ||
		    (sent && !is_left(msg)))
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		ns = card(ts.ts[0].tv_sec * NS_PER_S + ts.ts[0].tv_nsec);
		ts.ts[2] = (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
		if (sent)
			ts.ts[0] = (struct timespec){};
		memcpy(CMSG_DATA(c), &ts, sizeof(ts));
	}
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	const ssize_t n = next(fd, msg, flags);

	if (n >= 0)
		stamp(msg, 0);
	return n;
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int count, int flags, struct timespec *timeout)
{
	int (*next)(int, struct mmsghdr *, unsigned int, int, struct timespec *) =
		dlsym(RTLD_NEXT, "recvmmsg");
	const int n = next(fd, msgs, count, flags, timeout);

	for (int i = 0; i < n; i++)
		stamp(&msgs[i].msg_hdr, 1);
	return n;
}
