/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_resources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "report/human.h"

#define NAME_MAX_BYTES 1024

/* A connection on its way into the fleet. */
struct fleet_resourcing {
	struct fleet_inputs *in;
	struct fleet *f;
	const struct fleet_recording *recording;
	const struct fleet_identity *identity;
	const char *remote;           /* name of the remote host; NULL: unknown */
	uint32_t shares[FLEET_SHARES_MAX];
	uint32_t n;
	int err;
};

static void fleet_resources_share(struct fleet_resourcing *s, enum fleet_kind kind,
				  const char *name)
{
	uint32_t index;

	if (s->err || !name || !*name)
		return;
	s->err = fleet_resource(s->f, kind, name, &index);
	if (s->err)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->shares[i] == index)
			return;
	if (s->n == FLEET_SHARES_MAX)
		s->in->shares_left_out++;
	else
		s->shares[s->n++] = index;
}

/* ---- hosts ---- */

static bool fleet_resources_has_address(const struct event_flow *flow)
{
	return flow->id && (flow->family == AF_INET || flow->family == AF_INET6);
}

/*
 * Returns the name of the remote host: this one, as the topology says, or by the addresses in the
 * recordings. An address that several hosts have is nobody's.
 */
static const char *fleet_resources_remote(const struct fleet_resourcing *s)
{
	const struct event_flow *flow = &s->identity->flow;
	struct fleet_address address;
	const char *name;
	uint32_t host;

	if (!fleet_resources_has_address(flow))
		return NULL;
	address = addresses_whole(flow->family, flow->remote);
	if (addresses_is_local(&address) || !memcmp(flow->local, flow->remote, 16))
		return s->recording->run.host;
	name = topology_host_of(s->in->topology, &address);
	if (name)
		return name;
	host = addresses_find(&s->in->scan.addresses, &address);
	return host == ADDRESSES_NONE ? NULL : s->in->scan.hosts.items[host];
}

static void fleet_resources_share_hosts(struct fleet_resourcing *s)
{
	const char *host = s->recording->run.host;
	const struct topology_host told = topology_host(s->in->topology, host);
	struct topology_path path;

	fleet_resources_share(s, FLEET_HOST, host);
	fleet_resources_share(s, FLEET_HOST, s->remote);
	fleet_resources_share(s, FLEET_KERNEL, s->recording->run.kernel);
	fleet_resources_share(s, FLEET_INSTANCE, told.instance ? told.instance :
								  s->recording->product);
	topology_path(s->in->topology, host, s->remote, &path);
	for (uint32_t i = 0; i < path.n; i++)
		fleet_resources_share(s, path.shares[i].kind, path.shares[i].name);
	s->in->shares_left_out += path.beyond;
}

/* ---- applications ---- */

/* A container's label has a blank, "docker 0123456789ab"; a unit's name has none. */
static const char *fleet_resources_container(const char *unit)
{
	return unit && strchr(unit, ' ') ? unit : NULL;
}

/* Returns whether a unit is one application's: sessions and users' managers hold many. */
static bool fleet_resources_is_application(const char *unit)
{
	return unit && !fleet_resources_container(unit) && strncmp(unit, "session-", 8) != 0 &&
	       strncmp(unit, "user@", 5) != 0 && strncmp(unit, "init", 5) != 0;
}

const char *fleet_resources_application(const struct apps *apps,
					const struct fleet_identity *identity)
{
	const char *unit = identity->unit, *app;
	const struct apps_subject subject = {
		.text = { [APPS_UNIT] = fleet_resources_container(unit) ? NULL : unit,
			  [APPS_CGROUP] = identity->cgroup,
			  [APPS_CONTAINER] = fleet_resources_container(unit),
			  [APPS_COMMAND] = identity->command },
		.port = identity->accepted ? identity->flow.local_port :
					     identity->flow.remote_port,
	};

	app = apps_find(apps, &subject);
	if (!app)
		app = identity->application;
	if (!app)
		app = fleet_resources_is_application(unit) ? unit : identity->command;
	return app;
}

/*
 * Shares the application: as --apps says, or the unit, or the command; and the container, by host.
 * A container's number is of one host, so that it is no application.
 */
static void fleet_resources_share_app(struct fleet_resourcing *s)
{
	const char *container = fleet_resources_container(s->identity->unit);
	char name[NAME_MAX_BYTES];

	fleet_resources_share(s, FLEET_APP, fleet_resources_application(s->in->apps, s->identity));
	if (!container)
		return;
	snprintf(name, sizeof(name), "%s on %s", container, s->recording->run.host);
	fleet_resources_share(s, FLEET_CONTAINER, name);
}

/*
 * Shares the service to which the connection was made. An accepted one has none: its service is
 * this application, whose name and host it shares already. A loopback address is of each host.
 */
static void fleet_resources_share_service(struct fleet_resourcing *s)
{
	const struct event_flow *flow = &s->identity->flow;
	char address[HUMAN_ADDRESS_MAX], name[NAME_MAX_BYTES];
	struct fleet_address remote;

	if (!fleet_resources_has_address(flow) || s->identity->accepted)
		return;
	human_address(address, flow->family, flow->remote, flow->remote_port);
	remote = addresses_whole(flow->family, flow->remote);
	snprintf(name, sizeof(name), "%s%s%s", address,
		 addresses_is_local(&remote) ? " on " : "",
		 addresses_is_local(&remote) ? s->recording->run.host : "");
	fleet_resources_share(s, FLEET_SERVICE, name);
}

/* ---- the connection ---- */

static void fleet_resources_name_conn(const struct event_flow *flow, char *out, size_t size)
{
	char local[HUMAN_ADDRESS_MAX] = "?", remote[HUMAN_ADDRESS_MAX] = "?";

	if (fleet_resources_has_address(flow)) {
		human_address(local, flow->family, flow->local, flow->local_port);
		human_address(remote, flow->family, flow->remote, flow->remote_port);
	}
	snprintf(out, size, "%s > %s", local, remote);
}

int fleet_resources_add(struct fleet_inputs *in, struct fleet *f,
			const struct fleet_recording *recording,
			const struct fleet_identity *identity, uint32_t *index)
{
	struct fleet_resourcing s = { .in = in, .f = f, .recording = recording,
				      .identity = identity };
	char name[2 * HUMAN_ADDRESS_MAX + 4];

	s.remote = fleet_resources_remote(&s);
	fleet_resources_share_hosts(&s);
	fleet_resources_share_app(&s);
	fleet_resources_share_service(&s);
	fleet_resources_name_conn(&identity->flow, name, sizeof(name));
	return s.err ? s.err : fleet_connection(f, &(struct fleet_conn){
		.host = s.shares[0], .shares = s.shares, .n = s.n, .cookie = identity->cookie,
		.name = name }, index);
}
