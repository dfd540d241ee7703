/* SPDX-License-Identifier: Apache-2.0 */
/* References of the targets: messages of the same recording, or of another one. */
#ifndef HOSTLAT_DIAGNOSE_REFERENCES_H
#define HOSTLAT_DIAGNOSE_REFERENCES_H

#include "diagnose/state.h"

/* Returns the recording that has the references. */
const struct recorded *references_of(const struct diagnosis *d);

/* Returns true if a subject of that recording is a reference. */
bool references_have(const struct diagnosis *d, uint32_t subject);

/* Whether it is one for the application of `target`: in another recording, by its name. */
bool references_serve(const struct diagnosis *d, const struct message *target, uint32_t subject);

#endif
