#include "server/observe.h"

#include <time.h>
#include <unistd.h>

static int sink = STDERR_FILENO;

void log_to(int fd) { sink = fd; }

void log_line(const char *level, const char *fmt, ...)
{
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	char line[2048];
	size_t n = strftime(line, 64, "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(line + n, sizeof line - n, ".%03ldZ %s ", now.tv_nsec / 1000000, level);
	va_list args;
	va_start(args, fmt);
	int more = vsnprintf(line + n, sizeof line - n - 1, fmt, args);
	va_end(args);
	size_t end = MIN(n + (size_t)MAX(more, 0), sizeof line - 2);
	for (size_t i = n; i < end; i++)
		if ((unsigned char)line[i] < 0x20)
			line[i] = ' '; /* texts of clients may be in it: one event stays one line */
	line[end++] = '\n';
	/* One write keeps lines of several threads apart; a closed standard error is no reason to stop.
	 */
	if (sink >= 0 && write(sink, line, end) < 0)
		return;
}

log_value log_quoted(const char *text)
{
	log_value v;
	size_t n = 0;
	v.text[n++] = '"';
	for (const char *c = text ? text : ""; *c; c++) {
		if (n + 8 > sizeof v.text) {
			n += (size_t)snprintf(v.text + n, 4, "...");
			break;
		}
		if (*c == '"' || *c == '\\')
			v.text[n++] = '\\';
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			n += (size_t)snprintf(v.text + n, 5, "\\x%02x", (unsigned char)*c);
		else
			v.text[n++] = *c;
	}
	v.text[n++] = '"';
	v.text[n] = 0;
	return v;
}
