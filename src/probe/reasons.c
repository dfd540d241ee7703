/* SPDX-License-Identifier: Apache-2.0 */
/* The names of what is lost, and of what is not to be measured. */
#include "probe/watch_internal.h"

const char *const watch_loss_names[LOSS_MAX] = {
	[LOSS_NO_LINK_STAMP] = "no-link-stamp",
	[LOSS_STAMP_ZERO] = "stamp-zero",
	[LOSS_STAMP_FOREIGN] = "stamp-foreign",
	[LOSS_STAMP_FUTURE] = "stamp-future",
	[LOSS_CLOCK_UNSETTLED] = "clock-unsettled",
	[LOSS_NO_STORAGE] = "no-storage",
	[LOSS_FIFO_FULL] = "fifo-full",
	[LOSS_OOO_FULL] = "out-of-order-full",
	[LOSS_OOO_UNMATCHED] = "out-of-order-unmatched",
	[LOSS_NOT_ESTABLISHED] = "not-established",
	[LOSS_LOWAT] = "rcvlowat",
	[LOSS_NOT_COVERED] = "netns-not-covered",
	[LOSS_RACE] = "delivery-race",
	[LOSS_DESYNC] = "fifo-desync",
	[LOSS_UNSUPPORTED_SPLICE] = "unsupported-splice",
	[LOSS_MIXED_ORIGIN] = "mixed-origins",
	[LOSS_MIXED_GROUP] = "mixed-groups",
	[LOSS_CULPRITS_FULL] = "culprits-full",
	[LOSS_DISPLACED] = "displaced",
	[LOSS_NO_CALL] = "no-send-call",
	[LOSS_NEGATIVE] = "negative",
	[LOSS_MPTCP] = "mptcp",
};

const struct watch_excluded watch_excluded[EXCL_MAX] = {
	[EXCL_PURE_ACK] = { "pure-ack", STAGE_TRANSPORT },
	[EXCL_DUPLICATE] = { "duplicate", STAGE_TRANSPORT },
	[EXCL_READER_RUNNING] = { "reader-already-running", STAGE_RUNNABLE },
	[EXCL_READER_EARLY] = { "reader-already-running", STAGE_RUNNABLE },
	[EXCL_HOL] = { "head-of-line", STAGE_ENQUEUED },
	[EXCL_SENT_ACK] = { "pure-ack", STAGE_QDISC },
	[EXCL_NO_DEPARTURE] = { "no-departure", STAGE_QDISC },
	[EXCL_PACED] = { "paced", STAGE_QDISC },
	[EXCL_NOT_PACED] = { "pacing-ignored", STAGE_DRIVER },
	[EXCL_STACKED] = { "stacked-device", STAGE_QDISC },
	[EXCL_SPLIT] = { "split", STAGE_DRIVER },
	[EXCL_PARENT] = { "split-parent", STAGE_DRIVER },
	[EXCL_NO_COMPLETION] = { "given-to-receiver", STAGE_SENT },
	[EXCL_UNSPECIFIED] = { "completion-unspecified", STAGE_SENT },
	[EXCL_ENCAPSULATED] = { "encapsulated", STAGE_QDISC },
	[EXCL_NOT_RECEIVED] = { "not-received", STAGE_PROBE },
	[EXCL_OTHER_PROTOCOL] = { "other-protocol", STAGE_PROBE },
};
