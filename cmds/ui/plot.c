// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "num/saturating.h"
#include "path/new-file.h"
#include "sys/child-process.h"
#include "sys/cleanup.h"
#include "text/name-escape.h"
#include "ui/message.h"
#include "ui/plot.h"

/* Names are no markup, and the background is the same on each page that shows the picture. */
#define TERMINAL \
	"set terminal svg noenhanced size 900,560 font 'sans-serif,14' background 'white'\n"

/* Returns 0, or -1 and complains. */
static int find_gnuplot(struct plot *plot)
{
	int ret = program_find("gnuplot", &plot->gnuplot);

	if (ret == -ENOENT)
		error("--plot requires gnuplot, which is not installed (package gnuplot-nox)");
	else if (ret < 0)
		error("cannot search for gnuplot: %s", strerror(-ret));
	return ret < 0 ? -1 : 0;
}

/* The script has no name, so that nobody else can change it. Returns 0 or a negative errno. */
static int open_script(struct plot *plot)
{
	int fd = memfd_create("plot", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	plot->script = fdopen(fd, "w");
	if (!plot->script) {
		close(fd);
		return -ENOMEM;
	}
	fputs(TERMINAL, plot->script);
	return 0;
}

/* Returns 0, or -1 and complains. */
static int open_file(struct new_file *file, const char *path)
{
	int ret = new_file_open(path, file);

	if (ret < 0)
		new_file_error("cannot create", path, ret);
	return ret < 0 ? -1 : 0;
}

/* Of a file that is not KEPT only where it is left is an error. Returns 0, or -1 and complains. */
static int close_file(struct new_file *file, const char *path, bool kept)
{
	struct descriptor_place left;
	int ret;

	if (!kept)
		file->error = -ECANCELED;
	ret = new_file_finish(file, &left);
	if (ret < 0 && kept)
		error_path("cannot write to", path, ret);
	if (left.inode)
		leftover_error("the plot", &left);
	return (ret < 0 && kept) || left.inode ? -1 : 0;
}

/* The file itself is made when it is drawn, so that a run that is killed leaves none. */
static int try_file(const char *path)
{
	struct new_file file;
	int ret = open_file(&file, path);

	return ret < 0 ? ret : close_file(&file, path, false);
}

/* Whether the name of PATH promises no other format than SVG. */
static bool is_svg_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	return !dot || strcasecmp(dot, ".svg") == 0;
}

int plot_open(struct plot *plot, const char *path)
{
	int ret;

	*plot = (struct plot){ 0 };
	if (!path)
		return 0;
	if (!is_svg_name(path)) {
		error_path("--plot requires a name that ends in .svg, not", path, 0);
		return -1;
	}
	if (find_gnuplot(plot) < 0 || try_file(path) < 0)
		return -1;
	plot->path = path;
	ret = open_script(plot);
	if (ret < 0)
		error_path("cannot prepare the plot", path, ret);
	return ret < 0 ? -1 : 0;
}

/* In single quotes gnuplot knows nothing special but the quote. */
void plot_add_name(struct plot *plot, const char *before, const char *name)
{
	CLEANUP_FREE char *escaped = escape_name(name);

	fprintf(plot->script, "'%s", before);
	for (const char *c = escaped ? escaped : "?"; *c; c++) {
		if (*c == '\'')
			fputc('\'', plot->script);
		fputc(*c, plot->script);
	}
	fputc('\'', plot->script);
}

/* gnuplot does not report a full disk. */
static bool is_whole_image(int fd)
{
	static const char end[] = "</svg>";
	off_t size = lseek(fd, 0, SEEK_END);
	char last[sizeof(end) + 8] = "";
	off_t from = size > (off_t)sizeof(last) - 1 ? size - (off_t)sizeof(last) + 1 : 0;

	return pread(fd, last, sizeof(last) - 1, from) > 0 && strstr(last, end);
}

/* What gnuplot says comes with blank lines and a line that points at the place. */
static void complain_of_gnuplot(char *said, int wait_status)
{
	CLEANUP_FREE char *escaped = NULL;
	char *reason = said + strspn(said, " \n");

	reason[strcspn(reason, "\n")] = '\0';
	escaped = escape_name(reason);
	if (WIFSIGNALED(wait_status))
		error("gnuplot was killed by signal %d, so there is no plot",
		      WTERMSIG(wait_status));
	else
		error("gnuplot failed: %s",
		      escaped && *escaped ? escaped : "the image is incomplete");
}

/* Whether gnuplot drew it. Complains. */
static bool draw(const struct plot *plot, int fd)
{
	char script[sizeof("/dev/fd/") + 3 * sizeof(int)];
	char *const argv[] = { "gnuplot", "-d", script, NULL };
	char said[256];
	size_t length;
	int wait_status, ret;

	snprintf(script, sizeof(script), "/dev/fd/%d", fileno(plot->script));
	ret = child_run_errors(plot->gnuplot, argv, fileno(plot->script), fd, said,
			       sizeof(said) - 1, &length, &wait_status);
	if (ret < 0) {
		error("cannot run gnuplot: %s", strerror(-ret));
		return false;
	}
	said[length] = '\0';
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && is_whole_image(fd))
		return true;
	complain_of_gnuplot(said, wait_status);
	return false;
}

static int draw_file(const struct plot *plot)
{
	struct new_file file;
	bool drawn;

	if (open_file(&file, plot->path) < 0)
		return -1;
	drawn = draw(plot, file.fd);
	return close_file(&file, plot->path, drawn) < 0 || !drawn ? -1 : 0;
}

int plot_finish(struct plot *plot)
{
	int ret = -1;

	if (fflush(plot->script))
		error_path("cannot prepare the plot", plot->path, -errno);
	else
		ret = draw_file(plot);
	plot_discard(plot);
	return ret;
}

void plot_discard(struct plot *plot)
{
	if (plot->script)
		fclose(plot->script);
	free(plot->gnuplot);
	*plot = (struct plot){ 0 };
}

#define COUNT_WIDTH 10
#define BAR_WIDTH 40
/* One column of both: a column of bars alone, without a heading, would end lines in blanks. */
#define COUNT_AND_BAR_SIZE 64

struct bin_row {
	struct latency_bin bin;
	const char *count_and_bar;
};

#define BIN(member) offsetof(struct bin_row, member)

static uint64_t largest_count(const struct latency *latency)
{
	uint64_t largest = 0;

	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		uint64_t count = latency_bin(latency, i).count;

		largest = count > largest ? count : largest;
	}
	return largest;
}

static int add_bin(struct rows *rows, const struct latency_bin *bin, uint64_t largest)
{
	char count_and_bar[COUNT_AND_BAR_SIZE];
	char bar[BAR_WIDTH + 1] = "";

	/* A bin with a call in it has a block at least. */
	memset(bar, '#', mul_div_up(BAR_WIDTH, bin->count, largest));
	snprintf(count_and_bar, sizeof(count_and_bar), "%*" PRIu64 "%s%s", COUNT_WIDTH, bin->count,
		 *bar ? " " : "", bar);
	return rows_add(rows, &(struct bin_row){ *bin, count_and_bar });
}

int histogram_report(const struct latency *latency, const char *what, struct output *out)
{
	char heading[COUNT_AND_BAR_SIZE];
	const struct field bin_fields[] = {
		{ BIN(bin.low_ns), FIELD_TIME, .key = "low_ns", .title = "From",
		  .help = "The shortest time in it." },
		{ BIN(bin.high_ns), FIELD_TIME, .key = "high_ns", .title = "To",
		  .help = "The first time above it." },
		{ BIN(bin.count), FIELD_NUMBER, .key = "count",
		  .help = "The number of calls that took that long." },
		{ BIN(count_and_bar), FIELD_TEXT, .title = heading },
		{ 0 },
	};
	struct rows *rows;
	uint64_t largest;
	int ret, ended;

	if (!latency) {
		json_add_null(&out->json, "histogram");
		return 0;
	}
	largest = largest_count(latency);
	snprintf(heading, sizeof(heading), "%*s", COUNT_WIDTH, what);
	ret = rows_new(&rows, out, "histogram", bin_fields, 0);
	if (ret < 0)
		return ret;
	for (unsigned int i = 0; ret == 0 && i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(latency, i);
		bool is_between = latency->count && bin.high_ns > latency->min &&
				  bin.low_ns <= latency->max;

		/* A bar shows where there is none. */
		if (bin.count || (is_between && out->format == FORMAT_TEXT))
			ret = add_bin(rows, &bin, largest);
	}
	ended = rows_end(&rows);
	return ret < 0 ? ret : ended;
}
