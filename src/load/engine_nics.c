/* SPDX-License-Identifier: Apache-2.0 */
#include "load/engine_nics.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/log.h"
#include "base/privilege.h"

/* Checks that the NIC's clock can be read. */
static int try_clock(const struct net_nic *nic, struct strbuf *why)
{
	struct clock_phc phc;
	int err = clock_phc_open(&phc, nic->clock);

	if (!err)
		err = clock_phc_update(&phc, 0, 0);
	clock_phc_close(&phc);
	if (err < 0)
		strbuf_printf(why, "--timestamps nic: the clock of %s, /dev/ptp%d: %s; use "
			      "--timestamps kernel", nic->name, nic->clock, strerror(-err));
	return err;
}

static int add_nic(struct engine_nics *nics, const char *name, uint8_t *index, struct strbuf *why)
{
	int err;

	for (*index = 0; *index < nics->n; ++*index) {
		if (!strcmp(nics->list[*index].name, name))
			return 0;
	}
	if (nics->n == ENGINE_NICS_MAX) {
		strbuf_printf(why, "--timestamps nic: more than %d interfaces", ENGINE_NICS_MAX);
		return -E2BIG;
	}
	err = net_nic_enable(&nics->list[nics->n], name, why);
	if (err)
		return err;
	return try_clock(&nics->list[nics->n++], why);
}

/* Finds the NIC of each address, and drops addresses without a route. */
static int find_nics(struct engine_nics *nics, struct load_target *target, struct strbuf *why)
{
	char name[IF_NAMESIZE];
	uint32_t i, n = 0;
	int err = 0, no_route = 0;

	for (i = 0; i < target->n_addresses && !err; i++) {
		no_route = net_nic_towards(&target->addresses[i], name);
		if (no_route)
			continue;
		target->addresses[n] = target->addresses[i];
		err = add_nic(nics, name, &target->nics[n++], why);
	}
	target->n_addresses = n;
	if (!err && !n) {
		strbuf_printf(why, "--timestamps nic: %s: no route: %s",
			      target->target.host, strerror(-no_route));
		err = no_route;
	}
	return err;
}

static void restore_nics(void *engine_nics)
{
	struct engine_nics *nics = engine_nics;

	for (uint32_t i = 0; i < nics->n; i++)
		net_nic_restore(&nics->list[i]);
}

int engine_nics_init(struct engine_nics *nics, struct load_target *targets, uint32_t n_targets,
		     struct strbuf *why)
{
	bool changed = false;
	int err = 0;

	for (uint32_t i = 0; i < n_targets && !err; i++)
		err = find_nics(nics, &targets[i], why);
	for (uint32_t i = 0; i < nics->n; i++)
		changed |= nics->list[i].changed;
	if (!err && changed &&
	    restorer_start(&nics->restorer, PRIVILEGE(CAP_NET_ADMIN), restore_nics, nics))
		log_warning("if this process is killed (SIGKILL), the network card continues to "
			    "stamp packets");
	return err;
}

void engine_nics_release(struct engine_nics *nics)
{
	restore_nics(nics);
	restorer_call_off(&nics->restorer);
}
