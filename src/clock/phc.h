/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network card's clock (PTP hardware clock, Documentation/driver-api/ptp.rst) against the
 * monotonic one. The kernel reads it between two readings of realtime (PTP_SYS_OFFSET_EXTENDED,
 * linux/ptp_clock.h), and realtime's distance to monotonic is known (clock/follow.h): their
 * distance lies within an interval as wide as both together.
 *
 * The two clocks run at different rates, so that a time is converted along the line through the
 * last two such moments (clock/convert.h), which lie a tick apart. A moment that contradicts the
 * line tells that the clock was set, or is steered by more than PHC_WANDER_PPB per tick: the line
 * begins anew. Times between the setting and the next moment are off by as much as it was set.
 */
#ifndef HOSTLAT_CLOCK_PHC_H
#define HOSTLAT_CLOCK_PHC_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/ptp_clock.h>

#include "clock/convert.h"
#include "clock/cross.h"

/* A servo's steady steering stays below it. */
#define PHC_WANDER_PPB 1000
/*
 * Bound for a line through one moment: no crystal is off by more, and clock_convert() assumes it.
 */
#define PHC_WANDER_ALONE_PPB 1000000
/* A stamp is at most so far from the last moment. */
#define PHC_HORIZON_NS 60000000000LL

struct clock_phc {
	int fd;                   /* descriptor of /dev/ptpN; -1: closed */
	struct clock_table table; /* DOMAIN_NIC */
	struct clock_point last;
	unsigned int points;      /* in the table: 0, 1 or 2 */
};

/* Opens /dev/ptp`index`; -1 for one that is only fed. Returns 0 or -errno; to be closed anyway. */
int clock_phc_open(struct clock_phc *phc, int index);
void clock_phc_close(struct clock_phc *phc);

/*
 * Computes card - monotonic from the kernel's readings. `real_ns` is realtime - monotonic,
 * `error_ns` how far off that may be. The tightest of the readings. -EBADMSG if there is none.
 */
int clock_phc_cross(const struct ptp_sys_offset_extended *readings, int64_t real_ns,
		    uint64_t error_ns, struct clock_cross *cross);

/* Takes a moment, later than the last. 1: the clock was set; 0, or -errno of clock_table_add(). */
int clock_phc_add(struct clock_phc *phc, const struct clock_cross *cross);

/*
 * Reads the card's clock now and takes it; `real_ns` and `error_ns` as above. -EOPNOTSUPP: the
 * driver can't read it that way.
 */
int clock_phc_update(struct clock_phc *phc, int64_t real_ns, uint64_t error_ns);

/* A time of the card as one of the monotonic clock. -ERANGE as of clock_convert(). */
int clock_phc_to_mono(const struct clock_phc *phc, uint64_t nic_ns, struct clock_time *mono);

#endif
