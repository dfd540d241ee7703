/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "cmd/fleet_config.h"
#include "store/store.h"

#define WHY_MAX 4096u

int fleet_run_init(const struct fleet_config *c)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	int err = store_init(c->store, c->otel_views, &why);

	if (err)
		log_error("%s", strbuf_str(&why));
	else
		log_info("%s is a store now: hostlat fleet ingest --store %s FILE puts recordings "
			 "into it", c->store, c->store);
	strbuf_release(&why);
	return err ? EXIT_CANNOT : EXIT_OK;
}
