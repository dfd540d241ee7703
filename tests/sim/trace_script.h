/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings from scripts that a person can read. A line is a word and what follows, or a time, a
 * core and what happens there then; # begins a comment, words may be quoted. Times: 300ns, 4us,
 * 1.5ms, 2s, 0, since the begin. Lines may be in any order.
 *
 *	fact KEY VALUE
 *	cores N                          default: 2
 *	task NAME PID TID [CGROUP [UNIT]]  before its first use; TID again renames it
 *	flow ID LOCAL PORT REMOTE PORT   IPv4, TCP
 *	lost KIND RECORDS                the recorder's own losses
 *	message ID TID|NAME FIRST QUEUED READ CORE [core=N] [flow=N] [sent] [no-pieces]
 *		core=N: of the receive side, if that is another
 *	sent ID TID|NAME FIRST RETURNED CORE [flow=N] STAGE TIME ...
 *		a send call and when its last byte was at which stage: segment, qdisc, driver, sent;
 *		paced TIME: from then on its socket's own pacing held it; late TIME: from then on
 *		the timer of that was late, or before `paced`: those of earlier packets were
 *	repeat N STEP ... end            the lines between, N times, STEP later each time; ids of
 *					 messages rise by one
 *	open                             the recording just stops: nothing says that it ended
 *	early                            cores are not idle at first, but unknown
 *	until TIME                       it ends then, at the earliest
 *	unbound STAGE WHY
 *		a stage of received messages that could not be measured
 *	realtime TIME OFFSET ERROR [step|holds]
 *		from then on CLOCK_REALTIME is OFFSET ns more than CLOCK_MONOTONIC; step: it was set
 *		since the line before; holds: the line before holds up to then, at least
 *
 *	TIME CORE run NAME|idle [asleep|blocked|io|stopped|ended|runnable]
 *		the one before leaves; default: asleep
 *	TIME CORE call NAME|NUMBER       x86_64
 *	TIME CORE return
 *	TIME CORE irq N | irq-end | vector N | vector-end | softirq N | softirq-end
 *	TIME CORE fault
 *	TIME CORE enter|leave NAME       a function of the kernel
 *	TIME CORE wake NAME CORE
 *	TIME CORE hidden TASK            it gets the core, and no program of the recorder runs
 *	TIME CORE lose                   the recorder lost something before what comes next
 *	TIME CORE rename NAME NEW        a task calls itself NEW
 *	TIME CORE flush                  all blocks of the file end here
 */
#ifndef HOSTLAT_TESTS_TRACE_SCRIPT_H
#define HOSTLAT_TESTS_TRACE_SCRIPT_H

/* Writes the recording to `fd`. `name`: of the script, for complaints, which end the program. */
void trace_script(const char *name, const char *text, int fd);

#endif
