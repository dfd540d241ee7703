/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/phc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Readings for one update: each takes some bus round trips, while the thread waits. */
#define READINGS 5

int clock_phc_open(struct clock_phc *phc, int index)
{
	char path[32];

	*phc = (struct clock_phc){ .fd = -1 };
	clock_table_init(&phc->table);
	if (index < 0)
		return 0;
	snprintf(path, sizeof(path), "/dev/ptp%d", index);
	phc->fd = open(path, O_RDONLY | O_CLOEXEC);
	return phc->fd < 0 ? -errno : 0;
}

void clock_phc_close(struct clock_phc *phc)
{
	if (phc->fd >= 0)
		close(phc->fd);
	phc->fd = -1;
	clock_table_release(&phc->table);
}

static int64_t clock_phc_ns(const struct ptp_clock_time *time)
{
	return time->sec * 1000000000 + time->nsec;
}

int clock_phc_cross(const struct ptp_sys_offset_extended *readings, int64_t real_ns,
		    uint64_t error_ns, struct clock_cross *cross)
{
	int64_t before, card, after, width, best = INT64_MAX;

	for (unsigned int i = 0; i < readings->n_samples && i < PTP_MAX_SAMPLES; i++) {
		before = clock_phc_ns(&readings->ts[i][0]) - real_ns - (int64_t)error_ns;
		card = clock_phc_ns(&readings->ts[i][1]);
		after = clock_phc_ns(&readings->ts[i][2]) - real_ns + (int64_t)error_ns;
		width = after - before;
		/* a negative width: realtime was set back between the two readings */
		if (width < 0 || width >= best)
			continue;
		best = width;
		*cross = (struct clock_cross){
			.mono_ns = before + width / 2,
			.lo_ns = card - after, .hi_ns = card - before,
		};
	}
	return best == INT64_MAX ? -EBADMSG : 0;
}

/* Returns true if `point` contradicts the line through the last points; false without points. */
static bool clock_phc_contradicts(const struct clock_phc *phc, const struct clock_point *point)
{
	struct clock_time at;
	int64_t off;

	if (!phc->points)
		return false;
	if (clock_phc_to_mono(phc, (uint64_t)point->other, &at))
		return true;
	off = at.value - point->mono_ns;
	return (uint64_t)(off < 0 ? -off : off) > at.error_ns + point->error_ns;
}

int clock_phc_add(struct clock_phc *phc, const struct clock_cross *cross)
{
	const struct clock_point point = {
		.mono_ns = cross->mono_ns,
		.other = cross->mono_ns + clock_cross_offset_ns(cross),
		.error_ns = clock_cross_error_ns(cross),
	};
	const bool set = clock_phc_contradicts(phc, &point), two = phc->points && !set;
	int err = 0;

	clock_table_forget(&phc->table, DOMAIN_NIC);
	clock_table_limits(&phc->table, DOMAIN_NIC, two ? PHC_WANDER_PPB : PHC_WANDER_ALONE_PPB,
			   PHC_HORIZON_NS);
	if (two)
		err = clock_table_add(&phc->table, DOMAIN_NIC, &phc->last);
	if (!err)
		err = clock_table_add(&phc->table, DOMAIN_NIC, &point);
	phc->points = err ? 0 : 1 + two;
	phc->last = point;
	return err ? err : set;
}

int clock_phc_update(struct clock_phc *phc, int64_t real_ns, uint64_t error_ns)
{
	struct ptp_sys_offset_extended readings = { .n_samples = READINGS };
	struct clock_cross cross;
	int err;

	if (ioctl(phc->fd, PTP_SYS_OFFSET_EXTENDED, &readings))
		return errno == ENOTTY ? -EOPNOTSUPP : -errno;
	err = clock_phc_cross(&readings, real_ns, error_ns, &cross);
	return err ? err : clock_phc_add(phc, &cross);
}

int clock_phc_to_mono(const struct clock_phc *phc, uint64_t nic_ns, struct clock_time *mono)
{
	if (nic_ns > CONVERT_TIME_MAX)
		return -ERANGE;
	return clock_convert(&phc->table, DOMAIN_NIC, DOMAIN_MONO, (int64_t)nic_ns, mono);
}
