// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end: runs our subcommands of inspect-internal, and executes btrfs-progs with the
 * arguments untouched for everything else.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "sys/child-process.h"
#include "ui/front-end.h"
#include "ui/message.h"
#include "ui/standard-files.h"

/* As shells have it. */
enum {
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128,
};

/*
 * How many front ends have called each other through what should be btrfs-progs. A script in its
 * place may call btrfs again, once or twice; one that does nothing else would do so without end.
 */
static const char nesting_name[] = "BTRFS_FASTPATH_NESTING";
#define NESTED_MAX 4

static const char group_name[] = "inspect-internal";

/* The list of btrfs-progs 6.2 has 1.2 KiB. */
struct native_help {
	char text[64 * 1024];
	size_t length;
};

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* -v, -q, -vv, -vq … */
static bool is_flags(const char *word)
{
	return word[1] && !word[1 + strspn(word + 1, "vq")];
}

/* How many words the option at WORDS takes, 0 if it is none that leads to a subcommand. */
static int global_option_words(char **words)
{
	const char *word = words[0];

	if (is_flags(word) || strcmp(word, "--verbose") == 0 || strcmp(word, "--quiet") == 0)
		return 1;
	if (begins_with(word, "--format=") || begins_with(word, "--log="))
		return 1;
	if (strcmp(word, "--format") == 0 || strcmp(word, "--log") == 0)
		return 2;
	return 0;
}

/* Where the group's name is in ARGV with a word behind it, 0: this is not our group. */
static int find_group(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		int words = global_option_words(argv + i);

		if (!words)
			return 0;
		i += words;
	}
	return i + 1 < argc && argv[i][0] && begins_with(group_name, argv[i]) ? i : 0;
}

/* A btrfs-progs that is this very program would execute itself without end. */
static bool real_is_self(void)
{
	struct stat real, self;

	if (stat(BTRFS_PROGRAM, &real) < 0)
		return false;
	/* Without /proc, the name that the kernel executed has to do. */
	if (stat("/proc/self/exe", &self) < 0 &&
	    stat((const char *)getauxval(AT_EXECFN), &self) < 0)
		return false;
	return real.st_dev == self.st_dev && real.st_ino == self.st_ino;
}

static unsigned int nesting(void)
{
	const char *text = getenv(nesting_name);

	return text && isdigit((unsigned char)text[0]) && !text[1] ? text[0] - '0' : 0;
}

/* For all programs that are executed here. Returns 0; or -1, and complains. */
static int count_nesting(void)
{
	const char text[] = { '0' + (nesting() < 9 ? nesting() + 1 : 9), '\0' };

	if (setenv(nesting_name, text, 1) == 0)
		return 0;
	error("cannot set %s: %s", nesting_name, strerror(errno));
	return -1;
}

static bool nested_too_deep(void)
{
	return nesting() > NESTED_MAX;
}

/* Returns 0, or the exit status where btrfs-progs is not what is there. */
static int check_real(void)
{
	if (real_is_self())
		error("'%s' is this front end itself, not btrfs-progs", BTRFS_PROGRAM);
	else if (nested_too_deep())
		error("'%s' calls this front end again; it is not btrfs-progs", BTRFS_PROGRAM);
	else
		return 0;
	return STATUS_ERROR;
}

static int refuse_program(int err)
{
	error_path("cannot execute btrfs-progs", BTRFS_PROGRAM, err);
	return err == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* Returns only where that fails. */
static int exec_real(char **argv)
{
	int status = check_real();

	if (status)
		return status;
	execv(BTRFS_PROGRAM, argv);
	return refuse_program(-errno);
}

/* The exit status of btrfs-progs, run to its end. */
static int run_real(char **argv)
{
	int wait_status;
	int ret;

	ret = check_real();
	if (ret)
		return ret;
	ret = child_run(BTRFS_PROGRAM, argv, &wait_status);
	if (ret < 0)
		return refuse_program(ret);
	if (WIFSIGNALED(wait_status))
		return STATUS_SIGNAL + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

/* Without btrfs-progs nothing is native, and our commands still work. */
static void read_native_help(struct native_help *help)
{
	static char program[] = "btrfs", group[] = "inspect-internal", option[] = "--help";
	char *const argv[] = { program, group, option, NULL };

	help->length = 0;
	if (!real_is_self() && !nested_too_deep())
		child_capture(BTRFS_PROGRAM, argv, help->text, sizeof(help->text), &help->length);
}

static enum native_match match_native(const struct native_help *help, const char *word)
{
	return btrfs_progs_help_match(help->text, help->length, word);
}

/* What btrfs-progs does not list itself: with a patch it can run our commands, and lists them. */
static void list_ours(const struct native_help *native)
{
	const char *heading = "\nfrom " PACKAGE_NAME ", see btrfs-fastpath(8):\n\n";

	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_name(&commands[i], CALLER_INSPECT);

		if (!command_is_for(&commands[i], CALLER_INSPECT) ||
		    match_native(native, name) == NATIVE_EXACT)
			continue;
		printf("%s    btrfs %s %s %s\n        %s\n", heading, group_name, name,
		       commands[i].arguments, commands[i].summary);
		heading = "";
	}
}

static int show_help(char **argv)
{
	struct native_help native;
	int status, written;

	read_native_help(&native);
	/* Were SIGCHLD ignored, as a parent may have left it, the exit status would be lost. */
	signal(SIGCHLD, SIG_DFL);
	status = run_real(argv);

	list_ours(&native);
	written = standard_output_finish(STATUS_OK);
	return status ? status : written;
}

/* Whether btrfs-progs shall judge WORD, which command_find() answered with COMMAND. */
static bool is_native(const char *word, const struct command *command)
{
	struct native_help native;

	read_native_help(&native);
	switch (match_native(&native, word)) {
	case NATIVE_EXACT:
		return true;
	case NATIVE_PREFIX:
		return strcmp(command_name(command, CALLER_INSPECT), word) != 0;
	case NATIVE_NONE:
		break;
	}
	return false;
}

static int refuse_ambiguous(const char *word)
{
	error_value("ambiguous command", word, "%s", "");
	fputs("Did you mean one of these?\n", stderr);
	for (size_t i = 0; i < command_count; i++) {
		const char *name = command_name(&commands[i], CALLER_INSPECT);

		if (command_is_for(&commands[i], CALLER_INSPECT) && begins_with(name, word))
			fprintf(stderr, "\t%s\n", name);
	}
	return STATUS_ERROR;
}

/* btrfs-progs refuses WORD, and lists only its own commands. */
static int suggest(const char *word, const struct command *near, char **argv)
{
	struct native_help native;
	int status;

	read_native_help(&native);
	if (match_native(&native, word) != NATIVE_NONE)
		return exec_real(argv);
	/* See show_help(). */
	signal(SIGCHLD, SIG_DFL);
	status = run_real(argv);
	fprintf(stderr, "\nDid you mean '%s', which is from " PACKAGE_NAME "?\n",
		command_name(near, CALLER_INSPECT));
	return status;
}

/* The globals, the command and what follows it are left when the GROUP is out. */
static int run_ours(int argc, char **argv, int group)
{
	setlocale(LC_CTYPE, "");
	memmove(argv + group, argv + group + 1, (argc - group) * sizeof(*argv));
	return dispatch(CALLER_INSPECT, argc - 1, argv);
}

int main(int argc, char **argv)
{
	int group = find_group(argc, argv);
	const struct command *command, *near;
	enum command_match match;
	const char *word;

	if (standard_files_reserve() < 0 || count_nesting() < 0)
		return STATUS_ERROR;
	if (!group)
		return exec_real(argv);
	word = argv[group + 1];
	if (strcmp(word, "--help") == 0)
		return show_help(argv);

	match = command_find(word, CALLER_INSPECT, &command);
	near = match == COMMAND_NONE ? command_near(word, CALLER_INSPECT) : NULL;
	if (near)
		return suggest(word, near, argv);
	if (match == COMMAND_NONE || is_native(word, command))
		return exec_real(argv);
	if (match == COMMAND_AMBIGUOUS)
		return refuse_ambiguous(word);
	return run_ours(argc, argv, group);
}
