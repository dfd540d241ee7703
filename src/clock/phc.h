/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network card's clock (PTP hardware clock, Documentation/driver-api/ptp.rst) relative to the
 * monotonic clock. The kernel reads it between two readings of realtime (PTP_SYS_OFFSET_EXTENDED,
 * linux/ptp_clock.h), and realtime's distance to monotonic is known (clock/follow.h): their
 * distance is within an interval as wide as both together.
 *
 * The two clocks run at different rates, so a time is converted along the line through the last two
 * such points (clock/convert.h), one update apart. A point that contradicts the line shows
 * that the clock was set, or is steered by more than PHC_WANDER_PPB per update: a new line begins.
 * Times between the setting and the next point are wrong by the size of the step.
 */
#ifndef HOSTLAT_CLOCK_PHC_H
#define HOSTLAT_CLOCK_PHC_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/ptp_clock.h>

#include "clock/convert.h"
#include "clock/cross.h"

/* Assumed limit of the card's change of rate per update: a servo's steady steering is smaller. */
#define PHC_WANDER_PPB 1000
/*
 * Bound of the clock's rate error while only one point is known: no crystal is worse, and
 * clock_convert() assumes this bound.
 */
#define PHC_WANDER_ALONE_PPB 1000000
/* Largest distance of a stamp from the last point: 60 s. */
#define PHC_HORIZON_NS 60000000000LL

struct clock_phc {
	int fd;                   /* descriptor of /dev/ptpN; -1: closed */
	struct clock_table table; /* points of DOMAIN_NIC */
	struct clock_point last;
	unsigned int points;      /* number of points in the table: 0, 1 or 2 */
};

/*
 * Opens /dev/ptp`index`; -1: no device, the caller adds points. Returns 0 or -errno; call
 * clock_phc_close() in either case.
 */
int clock_phc_open(struct clock_phc *phc, int index);
void clock_phc_close(struct clock_phc *phc);

/*
 * Computes card - monotonic from the tightest of the kernel's readings. `real_ns` is realtime -
 * monotonic, `error_ns` its error bound. Returns 0 or -EBADMSG: there is no reading.
 */
int clock_phc_cross(const struct ptp_sys_offset_extended *readings, int64_t real_ns,
		    uint64_t error_ns, struct clock_cross *cross);

/* Adds a point later than the last. Returns 1: the clock was set; 0; or -errno. */
int clock_phc_add(struct clock_phc *phc, const struct clock_cross *cross);

/*
 * Reads the card's clock now and adds the point; `real_ns` and `error_ns` as for clock_phc_cross().
 * Returns as clock_phc_add(), or -errno; -EOPNOTSUPP: the driver cannot read it this way.
 */
int clock_phc_update(struct clock_phc *phc, int64_t real_ns, uint64_t error_ns);

/* Converts a time of the card into monotonic time. -ERANGE as clock_convert(). */
int clock_phc_to_mono(const struct clock_phc *phc, uint64_t nic_ns, struct clock_time *mono);

#endif
