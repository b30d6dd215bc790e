// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a command, sends it a signal after a while, and prints how it ended: the exit status, minus
 * the number of the signal that ended it, or "hung" where it was still there a minute after that.
 *
 *   signal-run --signal NAME... [OPTION...] COMMAND...
 *
 *   --after SECONDS   wait before the first signal
 *   --once FILE       wait until FILE is there, and then --after
 *   --group           the signal is for all programs that it runs too, as one from a terminal is
 *   --full            its standard output is a pipe that is full and that nobody reads
 *   --full-error      its standard error, too
 *   --error FILE      keep what it says on standard error
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 60.0
#define TICK 0.005
/* So that each of several comes for itself. */
#define BETWEEN_SIGNALS 0.01
#define MOST_SIGNALS 8

struct run {
	int signals[MOST_SIGNALS];
	int signal_count;
	double after;
	const char *once;
	bool group;
	int output;
	int error;
	char **command;
};

static void pause_for(double seconds)
{
	const struct timespec time = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	nanosleep(&time, NULL);
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		err(1, "cannot open %s", path);
	return fd;
}

/* Of a pipe that takes nothing more. Its other end is this process's. */
static int full_pipe(void)
{
	static const char block[4096];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		err(1, "no pipe");
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	if (fcntl(ends[1], F_SETFL, 0) < 0)
		err(1, "no pipe that blocks");
	return ends[1];
}

/* -- options -- */

static int signal_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP },   { "INT", SIGINT },	  { "PIPE", SIGPIPE }, { "QUIT", SIGQUIT },
		{ "TERM", SIGTERM }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "XCPU", SIGXCPU },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	}
	errx(1, "no signal %s", name);
}

static void add_signal(struct run *run, const char *name)
{
	if (run->signal_count == MOST_SIGNALS)
		errx(1, "too many signals");
	run->signals[run->signal_count++] = signal_number(name);
}

static struct run parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "signal", required_argument, NULL, 's' },
		{ "after", required_argument, NULL, 'a' },
		{ "once", required_argument, NULL, 'o' },
		{ "group", no_argument, NULL, 'g' },
		{ "full", no_argument, NULL, 'f' },
		{ "full-error", no_argument, NULL, 'F' },
		{ "error", required_argument, NULL, 'e' },
		{ 0 },
	};
	int nothing = open_file("/dev/null", O_WRONLY);
	struct run run = { .output = nothing, .error = nothing };
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) >= 0) {
		switch (option) {
		case 's':
			add_signal(&run, optarg);
			break;
		case 'a':
			run.after = strtod(optarg, NULL);
			break;
		case 'o':
			run.once = optarg;
			break;
		case 'g':
			run.group = true;
			break;
		case 'f':
			run.output = full_pipe();
			break;
		case 'F':
			run.output = run.error = full_pipe();
			break;
		case 'e':
			run.error = open_file(optarg, O_WRONLY | O_CREAT | O_TRUNC);
			break;
		default:
			exit(1);
		}
	}
	run.command = argv + optind;
	if (!run.signal_count || !*run.command)
		errx(1, "a signal and a command expected");
	return run;
}

/* -- the command -- */

/* As a shell starts it in the foreground, whatever becomes of jobs in the background. */
static void set_attributes(posix_spawnattr_t *attributes, bool group)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_setsigdefault(attributes, &signals);
	posix_spawnattr_setflags(attributes,
				 POSIX_SPAWN_SETSIGDEF | (group ? POSIX_SPAWN_SETPGROUP : 0));
}

/* Once that returns the command is executed, and no signal is lost any more. */
static pid_t start(const struct run *run)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, run->error, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&files, run->output, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	set_attributes(&attributes, run->group);
	errno = posix_spawnp(&pid, run->command[0], &files, &attributes, run->command, environ);
	if (errno)
		err(1, "cannot run %s", run->command[0]);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* Its number stays as long as nobody has waited for it. */
static bool is_there(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid;
}

static void send_signals(const struct run *run, pid_t pid)
{
	while (run->once && access(run->once, F_OK) < 0 && is_there(pid))
		pause_for(TICK);
	pause_for(run->after);
	for (int i = 0; i < run->signal_count; i++) {
		kill(run->group ? -pid : pid, run->signals[i]);
		if (i + 1 < run->signal_count)
			pause_for(BETWEEN_SIGNALS);
	}
}

static void tell_end(pid_t pid)
{
	int status;

	for (double waited = 0; is_there(pid) && waited < PATIENCE; waited += TICK)
		pause_for(TICK);
	if (is_there(pid)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		puts("hung");
		return;
	}
	if (waitpid(pid, &status, 0) < 0)
		err(1, "cannot wait");
	printf("%d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const struct run run = parse(argc, argv);
	pid_t pid = start(&run);

	send_signals(&run, pid);
	tell_end(pid);
	return 0;
}
