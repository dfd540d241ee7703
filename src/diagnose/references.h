/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference messages with which the targets (messages to explain) are compared: of the same
 * recording, or of another recording.
 */
#ifndef HOSTLAT_DIAGNOSE_REFERENCES_H
#define HOSTLAT_DIAGNOSE_REFERENCES_H

#include "diagnose/state.h"

/* Returns the recording that has the references. */
const struct recorded *references_of(const struct diagnosis *d);

/* Returns true if an analyzed message of the references' recording is a reference. */
bool references_have(const struct diagnosis *d, uint32_t subject);

/*
 * Returns true for a reference of `target`'s application: a message of the same pid, or in another
 * recording of a task with the same comm.
 */
bool references_serve(const struct diagnosis *d, const struct message *target, uint32_t subject);

#endif
