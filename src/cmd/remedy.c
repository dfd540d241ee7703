/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/remedy.h"

#include "cmd/glossary.h"
#include "diagnose/cause.h"
#include "diagnose/diagnose.h"
#include "report/report.h"

/* A cause with less of the excess is not worth a remedy. */
#define REMEDY_SHARE_MIN 0.2

#define CLIENT_REMEDY                                                                              \
	"Give hostlat's load generator CPUs that nothing else uses, or measure with hostlat load " \
	"from another host."

void remedy_add(const struct diagnosis *d, struct report *r)
{
	struct main_cause main;
	const char *text = NULL;
	struct object *o;

	if (diagnosis_main_cause(d, &main) && main.share >= REMEDY_SHARE_MIN)
		text = main.client && main.cause != CAUSE_UNEXPLAINED &&
		       main.cause != CAUSE_NOT_RECORDED ?
		       CLIENT_REMEDY : glossary_causes[main.cause].todo;
	if (!text) {
		object_add(&r->body, "to_do", value_null());
		return;
	}
	o = object_new(r);
	object_add(o, "cause", value_string(cause_name(main.cause)));
	object_add(o, "client", value_bool(main.client));
	object_add(o, "share", value_fraction(main.share));
	object_add(o, "text", value_string(text));
	object_add(&r->body, "to_do", value_object(o));
	report_finding(r, "To do: %s", text);
}
