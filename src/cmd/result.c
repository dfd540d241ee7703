/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/result.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "base/version.h"
#include "output/json.h"
#include "output/terminal.h"
#include "output/text.h"

void result_begin(struct report *report, const char *command, unsigned int schema)
{
	struct provenance provenance = {
		.version = hostlat_version(), .command = command, .schema = schema,
	};
	char host[256] = "";
	struct timespec now;

	gethostname(host, sizeof(host) - 1);
	provenance.host = host;
	if (!clock_gettime(CLOCK_REALTIME, &now))
		provenance.started_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
	report_init(report, &provenance);
}

static void result_render(const struct report *report, const struct common_options *common, int fd,
			  struct strbuf *text)
{
	struct text_style style;

	if (common->json || common->json_lines) {
		json_report(report, common->json ? JSON_DOCUMENT : JSON_LINE, text);
		return;
	}
	terminal_style(fd, common_color(common, fd), &style);
	text_report(report, &style, text);
}

int result_print(const struct report *report, const struct common_options *common)
{
	struct strbuf text = STRBUF_INIT(REPORT_MEMORY_MAX);
	struct outfile file = {};
	int err;

	progress_clear();
	err = outfile_open(&file, common->output);
	if (!err) {
		result_render(report, common, file.fd, &text);
		err = report_error(report) ? report_error(report) : text.error;
	}
	if (!err)
		err = strbuf_fetch_shortage();
	if (!err)
		err = outfile_write(&file, strbuf_str(&text), text.len);
	if (!err)
		err = outfile_commit(&file);
	if (err == -EPIPE) /* the reader of the pipe has exited */
		err = 0;
	if (err)
		log_error("cannot write the result to %s: %s",
			  common->output ? common->output : "standard output",
			  folder_strerror(err));
	outfile_release(&file);
	strbuf_release(&text);
	return err ? EXIT_CANNOT : report->partial ? EXIT_PARTIAL : EXIT_OK;
}
