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
	const struct fleet_conns *conns;
	const struct fleet_conn_state *conn;
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

static const char *fleet_resources_name(const struct fleet_resourcing *s, uint32_t dict,
					uint32_t id)
{
	return id ? event_dict_get(s->conns->names, dict, id) : NULL;
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
	const struct event_flow *flow = &s->conn->flow;
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

/*
 * Shares the container, by host, and the application: as --apps says, or the unit, or the command.
 * A container's number is of one host, so that it is no application.
 */
static void fleet_resources_share_app(struct fleet_resourcing *s)
{
	const struct fleet_conn_state *conn = s->conn;
	const char *unit = fleet_resources_name(s, DICT_UNIT, conn->unit), *app;
	const struct apps_subject subject = {
		.text = { [APPS_UNIT] = fleet_resources_container(unit) ? NULL : unit,
			  [APPS_CGROUP] = fleet_resources_name(s, DICT_CGROUP, conn->cgroup),
			  [APPS_CONTAINER] = fleet_resources_container(unit),
			  [APPS_COMMAND] = fleet_resources_name(s, DICT_STRING, conn->comm) },
		.port = conn->flags & CONN_ACCEPTED ? conn->flow.local_port :
						      conn->flow.remote_port,
	};
	char name[NAME_MAX_BYTES];

	app = apps_find(s->in->apps, &subject);
	if (!app)
		app = fleet_resources_is_application(unit) ? unit : subject.text[APPS_COMMAND];
	fleet_resources_share(s, FLEET_APP, app);
	if (!subject.text[APPS_CONTAINER])
		return;
	snprintf(name, sizeof(name), "%s on %s", subject.text[APPS_CONTAINER],
		 s->recording->run.host);
	fleet_resources_share(s, FLEET_CONTAINER, name);
}

/*
 * Shares the service to which the connection was made. An accepted one has none: its service is
 * this application, whose name and host it shares already. A loopback address is of each host.
 */
static void fleet_resources_share_service(struct fleet_resourcing *s)
{
	const struct event_flow *flow = &s->conn->flow;
	char address[HUMAN_ADDRESS_MAX], name[NAME_MAX_BYTES];
	struct fleet_address remote;

	if (!fleet_resources_has_address(flow) || s->conn->flags & CONN_ACCEPTED)
		return;
	human_address(address, flow->family, flow->remote, flow->remote_port);
	remote = addresses_whole(flow->family, flow->remote);
	snprintf(name, sizeof(name), "%s%s%s", address,
		 addresses_is_local(&remote) ? " on " : "",
		 addresses_is_local(&remote) ? s->recording->run.host : "");
	fleet_resources_share(s, FLEET_SERVICE, name);
}

/* ---- the connection ---- */

static void fleet_resources_name_conn(const struct fleet_conn_state *conn, char *out, size_t size)
{
	char local[HUMAN_ADDRESS_MAX] = "?", remote[HUMAN_ADDRESS_MAX] = "?";
	const struct event_flow *flow = &conn->flow;

	if (fleet_resources_has_address(flow)) {
		human_address(local, flow->family, flow->local, flow->local_port);
		human_address(remote, flow->family, flow->remote, flow->remote_port);
	}
	snprintf(out, size, "%s > %s", local, remote);
}

int fleet_resources_add(struct fleet_inputs *in, struct fleet *f,
			const struct fleet_recording *recording, const struct fleet_conns *conns,
			struct fleet_conn_state *conn)
{
	struct fleet_resourcing s = { .in = in, .f = f, .recording = recording, .conns = conns,
				      .conn = conn };
	char name[2 * HUMAN_ADDRESS_MAX + 4];

	s.remote = fleet_resources_remote(&s);
	fleet_resources_share_hosts(&s);
	fleet_resources_share_app(&s);
	fleet_resources_share_service(&s);
	fleet_resources_name_conn(conn, name, sizeof(name));
	return s.err ? s.err : fleet_connection(f, &(struct fleet_conn){
		.host = s.shares[0], .shares = s.shares, .n = s.n, .cookie = conn->cookie,
		.name = name }, &conn->index);
}
