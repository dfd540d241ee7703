/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/children.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* The moving mean that stands for common load reaches so far to both sides, at most. */
#define REACH_MAX 30u
#define REACH_PART 8u  /* reach, at most, as a part of all intervals */
#define NOISE_MAX 4.0

uint64_t children_key(const char *name, uint64_t cookie)
{
	uint64_t key = cookie;

	for (; *name; name++)
		key = rng_derive(key, (unsigned char)*name);
	return key;
}

static uint64_t children_connection_key(const struct fleet *f, uint32_t conn)
{
	return children_key(f->all.items[conn].name, f->all.items[conn].cookie);
}

static uint64_t children_host_key(const struct fleet *f, uint32_t host)
{
	return children_key(f->resources.items[host].name, 0);
}

/* Returns whether the subset has defined connections of the group. */
static bool children_has(const struct class_sums *sums, const struct fleet_subset *subset,
			 uint32_t group)
{
	if (!class_sums_has(sums, group))
		return false;
	for (size_t i = 0; i < subset->n_without; i++)
		if (fleet_group_shares(sums->groups, group, subset->without[i]))
			return false;
	return true;
}

/* ---- common load ---- */

/* Sets the noise: unknown with one host outside, no more than NOISE_MAX times the plain error. */
static void common_load_judge(const struct class_sums *sums, struct common_load *load)
{
	double z = -sums->outside_squares.z, weight = -sums->outside_squares.weight;
	double square = 0, known = 0, error;

	for (uint32_t k = 0; k < load->intervals; k++) {
		const double sum = (double)sums->outside.z[k] / STANDARD_ONE;
		const double weights = (double)sums->outside.weight[k] / STANDARD_ONE;

		z += sum * sum;
		weight += weights * weights;
		square += load->series[k] * load->series[k];
		known += weights > 0;
	}
	if (!(weight > 1e-6 * sums->outside_squares.weight) || !(square > 0))
		return;
	error = fmin(1, fmax(0, 1 - fmax(0, z / weight) * known / square));
	load->noise = square / known * error * fmin(NOISE_MAX, 1 / (1 - error));
}

static int common_load_make(struct class_sums *sums, uint32_t resource, struct common_load *out)
{
	const uint32_t intervals = sums->f->grid.intervals;

	*out = (struct common_load){ .intervals = intervals, .none = resource == FLEET_NONE };
	if (out->none || !class_sums_outside(sums, resource, CHILDREN_OUTSIDE_MIN))
		return 0;
	out->series = calloc(intervals, sizeof(*out->series));
	if (!out->series)
		return -ENOMEM;
	for (uint32_t k = 0; k < intervals; k++)
		if (sums->outside.weight[k])
			out->series[k] = (double)sums->outside.z[k] /
					 (double)sums->outside.weight[k];
	common_load_judge(sums, out);
	return 0;
}

static double common_load_regress(const struct common_load *load, double *z, const double *weight)
{
	double product = 0, square = 0;

	for (uint32_t k = 0; k < load->intervals; k++) {
		product += z[k] * load->series[k];
		square += weight[k] * load->series[k] * load->series[k];
	}
	if (!(square > 0))
		return 0;
	for (uint32_t k = 0; k < load->intervals; k++)
		z[k] -= product / square * weight[k] * load->series[k];
	return product / square;
}

/* A window of intervals, and what is in it. The ring keeps what has already been changed. */
struct moving {
	double ring[REACH_MAX + 1], sum, weight;
};

/* Sums that a window loses again must be exact: z is a multiple of 2^-16. */
static void common_load_smooth(const struct common_load *load, double *z, const double *weight)
{
	const uint32_t n = load->intervals, part = n / REACH_PART;
	const uint32_t reach = part < REACH_MAX ? part : REACH_MAX;
	struct moving m = { .sum = 0 };

	for (uint32_t k = 0; k < reach && k < n; k++) {
		m.sum += z[k];
		m.weight += weight[k];
	}
	for (uint32_t k = 0; k < n; k++) {
		if (k + reach < n) {
			m.sum += z[k + reach];
			m.weight += weight[k + reach];
		}
		if (k > reach) {
			m.sum -= m.ring[k % (reach + 1)];
			m.weight -= weight[k - reach - 1];
		}
		m.ring[k % (reach + 1)] = z[k];
		if (m.weight > 0)
			z[k] -= weight[k] * m.sum / m.weight;
	}
}

double children_remove_load(const struct common_load *load, double *z, const double *weight)
{
	if (load->series)
		return common_load_regress(load, z, weight);
	if (!load->none)
		common_load_smooth(load, z, weight);
	return 0;
}

/* ---- series ---- */

/* Counts children: hosts, connections. */
static void children_count(const struct class_sums *sums, const struct fleet_subset *subset,
			   struct children *out)
{
	uint32_t host = FLEET_NONE, n_conns;
	size_t n;
	const uint32_t *groups = fleet_groups_of(sums->groups, subset->resource, &n);

	for (size_t i = 0; i < n; i++) {
		const struct fleet_group *group = &sums->groups->all.items[groups[i]];

		if (!children_has(sums, subset, groups[i]))
			continue;
		out->hosts += group->host != host;
		host = group->host;
		class_sums_group(sums, groups[i], &n_conns);
		out->connections += n_conns;
	}
	out->are_connections = out->hosts == 1;
	out->n = out->are_connections ? out->connections : out->hosts;
}

static uint32_t children_bundle(struct children *children, uint64_t key, uint32_t next)
{
	const uint32_t u = children->bundled ? (uint32_t)(key % CHILDREN_BUNDLES) : next;

	children->keys[u] += key;
	return u;
}

void children_add_steps(const struct class_sums *sums, uint32_t at, double *z, double *weight)
{
	const struct class_conn *conn = &sums->conns.items[at];
	const uint64_t *steps = sums->steps.items + conn->first;

	for (uint32_t i = 0; i < conn->n; i++) {
		z[standard_step_at(steps[i])] += (double)standard_step_z(steps[i]) / STANDARD_ONE;
		weight[standard_step_at(steps[i])] +=
			(double)standard_step_weight(steps[i]) / STANDARD_ONE;
	}
}

/* Sums are exact: steps are multiples of 2^-16. */
void children_add_up(double *z, double *weight, uint32_t intervals)
{
	for (uint32_t k = 1; k < intervals; k++) {
		z[k] += z[k - 1];
		weight[k] += weight[k - 1];
	}
}

/* Where the next child and the next connection go. */
struct children_cursor {
	uint32_t host, child, u, conn;
};

/* Adds the steps of a group's defined connections to their children. */
static void children_add_group(const struct class_sums *sums, uint32_t group,
			       struct children *out, struct children_cursor *at)
{
	const uint32_t first = sums->group_first[group], end = sums->group_first[group + 1];

	for (uint32_t i = first; i < end; i++) {
		if (out->are_connections)
			at->u = children_bundle(out, children_connection_key(
				sums->f, sums->conns.items[i].conn), at->child++);
		children_add_steps(sums, i, out->z + (size_t)at->u * out->intervals,
				   out->weight + (size_t)at->u * out->intervals);
		out->conns[at->conn++] = (struct child_conn){ i, at->u };
	}
}

static void children_fill(const struct class_sums *sums, const struct fleet_subset *subset,
			  struct children *out)
{
	struct children_cursor at = { .host = FLEET_NONE };
	size_t n;
	const uint32_t *groups = fleet_groups_of(sums->groups, subset->resource, &n);

	for (size_t i = 0; i < n; i++) {
		const struct fleet_group *group = &sums->groups->all.items[groups[i]];

		if (!children_has(sums, subset, groups[i]))
			continue;
		if (!out->are_connections && group->host != at.host)
			at.u = children_bundle(out, children_host_key(sums->f, group->host),
					       at.child++);
		at.host = group->host;
		children_add_group(sums, groups[i], out, &at);
	}
	for (uint32_t u = 0; u < out->n; u++)
		children_add_up(out->z + (size_t)u * out->intervals,
				out->weight + (size_t)u * out->intervals, out->intervals);
}

static double children_energy(const double *z, uint32_t n)
{
	double energy = 0;

	for (uint32_t k = 0; k < n; k++)
		energy += z[k] * z[k];
	return energy;
}

double children_smooth(const struct common_load *load, double *z, double *weight)
{
	const double before = children_energy(z, load->intervals);
	double scale;

	children_remove_load(load, z, weight);
	scale = before > 0 ? sqrt(children_energy(z, load->intervals) / before) : 0;
	for (uint32_t k = 0; k < load->intervals; k++)
		weight[k] *= scale;
	return scale;
}

/* Removes the load outside from a child; adds the error that it leaves. */
static void children_regress(struct children *children, double *z, const double *weight,
			     double *error)
{
	const double coefficient = children_remove_load(&children->load, z, weight);

	for (uint32_t k = 0; k < children->intervals; k++) {
		error[k] += coefficient * weight[k];
		children->bias -= children->load.noise * coefficient * coefficient * weight[k] *
				  weight[k];
	}
}

/* Removes the common load from all children, and sums them up. */
static int children_clean(struct children *children)
{
	const uint32_t intervals = children->intervals;
	double *error = calloc(intervals, sizeof(*error));

	for (uint32_t u = 0; u < children->n && error; u++) {
		double *z = children->z + (size_t)u * intervals;
		double *weight = children->weight + (size_t)u * intervals;

		if (children->load.series)
			children_regress(children, z, weight, error);
		else
			children_smooth(&children->load, z, weight);
		for (uint32_t k = 0; k < intervals; k++) {
			children->sum[k] += z[k];
			children->sum_weight[k] += weight[k];
			children->known[k] += weight[k] > 0;
		}
	}
	if (error)
		children->bias += children->load.noise * children_energy(error, intervals);
	/* Coefficients of both signs are chance: no shift could be as extreme as U with more. */
	children->bias = fmax(0, children->bias);
	free(error);
	return error ? 0 : -ENOMEM;
}

static int children_allocate(struct children *out)
{
	const size_t size = (size_t)out->n * out->intervals;

	out->z = calloc(2 * (size + out->intervals), sizeof(*out->z));
	out->keys = calloc((size_t)out->n + 1, sizeof(*out->keys));
	out->known = calloc(out->intervals, sizeof(*out->known));
	out->conns = calloc((size_t)out->connections + 1, sizeof(*out->conns));
	if (!out->z || !out->keys || !out->known || !out->conns)
		return -ENOMEM;
	out->weight = out->z + size;
	out->sum = out->weight + size;
	out->sum_weight = out->sum + out->intervals;
	return 0;
}

int children_make(struct class_sums *sums, const struct fleet_subset *subset,
		  struct children *out)
{
	*out = (struct children){ .intervals = sums->f->grid.intervals };
	children_count(sums, subset, out);
	out->bundled = out->n > CHILDREN_BUNDLES;
	out->n = out->bundled ? CHILDREN_BUNDLES : out->n;
	if (children_allocate(out) || common_load_make(sums, subset->around, &out->load))
		return -ENOMEM;
	children_fill(sums, subset, out);
	return children_clean(out);
}

void children_release(struct children *children)
{
	free(children->z);
	free(children->keys);
	free(children->known);
	free(children->conns);
	free(children->load.series);
	*children = (struct children){ 0 };
}
