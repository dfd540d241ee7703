/* SPDX-License-Identifier: Apache-2.0 */
#include "load/thread_causes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "load/outcomes.h"

static void thread_causes_note(struct load_thread *t, enum cause_of of, const char *name,
			       const char *text)
{
	const bool runs = t->phase == PHASE_RUN && t->now > t->start_ns;

	causes_note(&t->causes, of, name, text, runs ? t->now - t->start_ns : 0);
}

uint32_t thread_causes_note_reply(struct load_thread *t, const struct load_conn *c,
				  enum cause_of of, const struct reply *reply)
{
	char name[CAUSE_NAME_MAX] = CAUSE_REFUSED, word[ERROR_TEXT_WORD_MAX] = "";
	char text[ERROR_TEXT_CLEAN_MAX] = "";

	if (reply->error_text)
		error_text_clean(reply->error_text, text);
	if (reply->error_text && !reply->code)
		error_text_word(reply->error_text, word);
	if (reply->cause)
		snprintf(name, sizeof(name), "%s", reply->cause);
	else if (reply->code)
		snprintf(name, sizeof(name), "%s %u", c->target->protocol->http ? "HTTP" : "status",
			 reply->code);
	else if (*word)
		snprintf(name, sizeof(name), "%s", word);
	thread_causes_note(t, of, name, text);
	return outcome_of_cause(of, name);
}

void thread_causes_note_timeout(struct load_thread *t, const struct load_request *r)
{
	const struct load_conn *c = r->conn;
	const struct protocol_session *session = c->parser.session;
	bool begun = !r->awaits_resend && c->head == r && c->rx != c->reply_begin;

	if (session)
		begun = !r->awaits_resend && r->begun &&
			c->target->protocol->session->reply_begun(session, r->reply_id);

	thread_causes_note(t, CAUSE_REQUEST, CAUSE_TIMEOUT,
			   begun ? "only a part of the reply arrived" : "");
}

/* Shorter times without any connection are no outage: some servers close after each reply. */
#define OUTAGE_LEAST_NS (100 * NS_PER_MS)

void thread_causes_update_outage(struct load_thread *t, bool ends)
{
	if (t->phase != PHASE_RUN || t->now < t->start_ns)
		return;
	if (!t->n_open && !t->down_ns)
		t->down_ns = t->now;
	if ((t->n_open || ends) && t->down_ns) {
		if (t->now - t->down_ns >= OUTAGE_LEAST_NS)
			causes_note_span(&t->causes, CAUSE_CONNECTION, CAUSE_OUTAGE,
					 t->down_ns - t->start_ns, t->now - t->start_ns);
		t->down_ns = 0;
	}
}

/*
 * Writes the cause of a connection that TLS ended: with an alert of the server, which OpenSSL calls
 * "tlsv1 alert unknown ca", the alert's name, "tls-unknown-ca".
 */
static const char *thread_causes_alert(const struct load_conn *c, char name[CAUSE_NAME_MAX])
{
	static const char word[] = "alert ";
	const char *error = c->stream.tls ? net_tls_error(c->stream.tls) : "";
	const char *at = strstr(error, word);
	size_t n = strlen(CAUSE_TLS);

	snprintf(name, CAUSE_NAME_MAX, "%s", CAUSE_TLS);
	if (!at)
		return name;
	at += strlen(word);
	name[n++] = '-';
	for (; n < CAUSE_NAME_MAX - 1 && ((*at >= 'a' && *at <= 'z') || *at == ' '); at++)
		name[n++] = *at == ' ' ? '-' : *at;
	name[n] = '\0';
	return name;
}

static const char *thread_causes_name(const struct load_conn *c, int err,
				      char alert[CAUSE_NAME_MAX])
{
	if ((err == -EPIPE || err == -ECONNRESET) && c->rx != c->reply_begin)
		return CAUSE_CUT;
	switch (-err) {
	case EPIPE:
		return CAUSE_CLOSED;
	case ECONNRESET:
		return CAUSE_RESET;
	case EPROTO:
		return CAUSE_GARBLED;
	case ETIMEDOUT:
		return CAUSE_TIMEOUT;
	case ECONNABORTED:
		return thread_causes_alert(c, alert);
	case EKEYREJECTED:
	case EACCES:
		return CAUSE_TLS;
	default:
		return strerrorname_np(-err) ? strerrorname_np(-err) : CAUSE_CLOSED;
	}
}

/* Writes an errno's text, after the address if the target has several. */
static void thread_causes_system_text(const struct load_conn *c, int err,
				      char text[ERROR_TEXT_CLEAN_MAX])
{
	const uint32_t n = c->target->n_addresses;
	struct strbuf words = STRBUF_INIT(ERROR_TEXT_CLEAN_MAX - 1);

	if (n > 1) {
		net_address_text(&c->target->addresses[c->address % n], &words);
		strbuf_puts(&words, err == -ETIMEDOUT ? "" : ": ");
	}
	strbuf_puts(&words, err == -ETIMEDOUT ? "" : strerror(-err));
	snprintf(text, ERROR_TEXT_CLEAN_MAX, "%s", strbuf_str(&words));
	strbuf_release(&words);
}

/* Writes the error text of a connection without replies: the server's, else TLS's, else errno's. */
static void thread_causes_text(const struct load_conn *c, int err, char text[ERROR_TEXT_CLEAN_MAX])
{
	text[0] = '\0';
	if (c->parser.error_text.len)
		error_text_clean(&c->parser.error_text, text);
	else if (c->stream.tls && *net_tls_error(c->stream.tls))
		snprintf(text, ERROR_TEXT_CLEAN_MAX, "%s", net_tls_error(c->stream.tls));
	else if (err != -EPIPE && err != -ECONNRESET && err != -EPROTO)
		thread_causes_system_text(c, err, text);
}

void thread_causes_note_cut(struct load_thread *t, const struct load_conn *c, int err)
{
	char text[ERROR_TEXT_CLEAN_MAX] = "", alert[CAUSE_NAME_MAX];

	if (!c->replies || err == -EPROTO)
		thread_causes_text(c, err, text);
	thread_causes_note(t, CAUSE_REQUEST, thread_causes_name(c, err, alert), text);
}

void thread_causes_note_connection(struct load_thread *t, const struct load_conn *c, int err)
{
	char text[ERROR_TEXT_CLEAN_MAX], alert[CAUSE_NAME_MAX];

	thread_causes_text(c, err, text);
	thread_causes_note(t, CAUSE_CONNECTION, thread_causes_name(c, err, alert), text);
}

void thread_causes_note_goaway(struct load_thread *t, const struct load_conn *c)
{
	char text[ERROR_TEXT_CLEAN_MAX];

	error_text_clean(&c->parser.session->why, text);
	thread_causes_note(t, CAUSE_CONNECTION, CAUSE_GOAWAY, text);
}
