/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILES_H
#define FASTPATH_FILES_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/fiemap.h"
#include "fs/file-walk.h"
#include "path/inode-identity.h"
#include "sys/descriptor-limit.h"
#include "ui/kept-list.h"
#include "ui/options.h"
#include "ui/record.h"

/*
 * The files that a command reports on. A command parses its options with file_options_parse(), begins
 * its report with files_begin(), calls files_each(), and ends with files_end().
 */

/* -- options -- */

/* The files, and the range of each file, that a command reports on. */
struct file_options {
	struct global_options *global;
	struct byte_range range;
	/* the command can run without a path */
	bool paths_optional;
	bool recursive;
	bool one_file_system;
	/* calls are measured: nothing else may use the disk meanwhile */
	bool is_timed;
	const char *files0_from;
	char **paths;
	int path_count;
};

/* The options and the PATH arguments; its input is a struct file_options with GLOBAL set. */
extern const struct argp file_argp;

/* FILE_ARGP and GLOBAL_ARGP, whose inputs a command's parser hands them in this order. */
extern const struct argp_child file_argp_children[];
/* For a command that can sort its rows: SORT_ARGP comes before these two. */
extern const struct argp_child sorted_file_argp_children[];

/*
 * Parse the command line with ARGP into ARGUMENTS, which contains OPTIONS. For several files the
 * command runs in a copy of the process, which can be left behind. Returns whether this process runs
 * it; else *RET_STATUS is the exit status: after an error, the help or the version, or of the copy.
 */
bool file_options_parse(const struct argp *argp, int argc, char **argv, void *arguments,
			const struct file_options *options, int *ret_status);

/* Whether the user named a file, or a list of files. */
bool file_options_ask_for_any(const struct file_options *options);

/* Whether the report can have more than one file. */
bool file_options_ask_for_several(const struct file_options *options);

/* -- a report on files -- */

/* Why a file could not be reported; ACTION is NULL without a failure. */
struct failure {
	/* the ACTION of error_path() */
	const char *action;
	/* negative errno, or 0 */
	int error;
};

#define NO_FAILURE ((struct failure){ 0 })

/* Begins as zeros, with the first members. */
struct files {
	const struct file_options *options;
	/* files_begin_again() may be called */
	bool walks_again;
	/* in JSON the array of the files is open while they are reported */
	struct output out;
	/* the number of files reported so far, counted by the command */
	uint64_t file_count;
	uint64_t started_at;
	/* the exit status so far */
	int status;

	/* of the files; they can be kept after the walk */
	struct path_store paths;
	struct path_text path_text;
	/* those that can be found again; NULL before files_begin() */
	struct inode_set *seen;
	/* JSON was begun */
	bool has_frame;
	/* a file or directory was not examined, and an error was printed */
	bool has_failed;
	/* of the paths and errors of all of them, in any order */
	uint64_t failed_digest;
	/* no errors are printed */
	bool is_silent;
	/* the user stopped the walk before its end */
	bool is_interrupted;
	/* the number of files and directories that vanished before they could be examined */
	uint64_t vanished_count;
	/* the number of mount points of the same file system that were found and not entered */
	uint64_t skipped_mount_count;
	/* as file_walk_can_set_atimes() */
	bool can_set_atimes;
	/* the privilege for --cold is missing, and an error was printed */
	bool no_cache_drop;

	/* between files_open() and files_close(), else NULL */
	struct file_walk *walk;
	struct descriptor_limit limit;
	/* threads that only wait for the disk are worth their memory and descriptors */
	bool has_many_threads;
	/* of --files0-from, with WALKS_AGAIN */
	struct kept_list list;
};

/*
 * Begins a report with the array KEY of the files in JSON. KEY is NULL if the command writes all of its
 * output itself. Shows progress from now on. Returns 0 or -ENOMEM.
 */
int files_begin(struct files *files, const char *key);

/* Begins the object of the file PATH in JSON. */
void files_begin_result(struct files *files, const char *path);

/* Begins the details of the file PATH in text. */
void files_say_path(const struct files *files, const char *path);

/* Ends the object of a file in JSON, which is marked as incomplete for the negative errno ERROR. */
void files_end_result(struct files *files, int error);

/* After the last file: ends the array in JSON. */
void files_end_results(struct files *files);

/*
 * Whether the total comes next, if RET is what files_each() returned. Text has none after a walk that
 * failed or found nothing; JSON always does, so that its members are always there.
 */
bool files_have_total(const struct files *files, int ret);

/*
 * Begins and ends the object "total" in JSON, with the counts of files. The command adds its sums, which
 * are null if no file was examined because of an error.
 */
void files_begin_json_total(struct files *files);
void files_end_json_total(struct files *files);

/*
 * Ends a report, even if files_begin() failed or was not called. Prints what was not examined, and
 * the error that ended the work if RET is a negative errno. Returns the exit status.
 */
int files_end(struct files *files, int ret);

/* -- the loop -- */

/* An open file. */
struct opened_file {
	struct files *files;
	const struct found_file *found;
	int fd;
	struct stat status;
};

/* The functions for a loop over files. DATA belongs to the command. */
struct file_ops {
	struct failure (*report)(void *data, const struct opened_file *file);
	/*
	 * report() sleeps in an endless call, and runs no more: ends the report of its file, and makes new
	 * what the call may still write to. Only if there are several files. Returns 0 or a negative errno
	 */
	int (*given_up)(void *data);
	/* each name of each file, before it is reported; NULL, or returns 0 or a negative errno */
	int (*name)(void *data, const struct found_file *found, int fd, const struct stat *status);
	/* a directory that the walk enters, as in struct file_walk_options; can be NULL */
	int (*directory)(void *data, int fd, const struct stat *status, size_t argument);
};

/*
 * Opens each file for the first time that it is found, and passes it to report(). Prints an error for
 * each file that cannot be opened or reported. With several files report() runs on another thread,
 * which is given up if it sleeps in an endless call: see endless-call.h.
 * Returns 0, or the negative errno that ended the loop.
 */
int files_each(struct files *files, const struct file_ops *ops, void *data);

/* As file_walk_next(), but returns 0 if the user wants to stop: see stop-request.h. */
int files_next(struct files *files, struct found_file *ret_file);

/* Shows how many files were reported, how fast, and the path of FILE, if progress is due. */
void files_show_progress(struct files *files, const struct found_file *file);

/* Its name in the report, valid until the next call. Returns NULL if there is no memory. */
const char *opened_file_path(const struct opened_file *file);

/*
 * Drops all caches for --cold, as cold_drop_caches(), but prints an error only once.
 */
int files_drop_caches(struct files *files, int fd);

/* -- for a loop of one's own -- */

/*
 * Starts a walk, files->walk. DIRECTORY and DATA are as in struct file_ops. Returns 1, 0 if the user
 * named no file, or a negative errno if the list of --files0-from cannot be opened.
 */
int files_open(struct files *files,
	       int (*directory)(void *data, int fd, const struct stat *status, size_t argument),
	       void *data);
void files_close(struct files *files);

/* Why a file of the walk cannot be reported, or NO_FAILURE. */
struct failure found_file_check(const struct found_file *file);

/*
 * Opens the regular file FILE of WALK. Any thread may call this. Without a failure *RET_FD is a
 * descriptor that the caller closes.
 */
struct failure found_file_open(const struct file_walk *walk, const struct found_file *file,
			       int *ret_fd, struct stat *ret_status);

/* The path of FILE, valid until the next call. Returns NULL if there is no memory. */
const char *files_path(struct files *files, const struct found_file *file);

/* Returns 1 for a new file, 0 if the file came before under any name, or -ENOMEM. */
int files_is_first(struct files *files, const struct stat *status);

/*
 * Prints an error for FAILURE of FILE and sets the exit status. If a file that was found in a directory
 * vanished, it is only counted, and so is a mount point of the same file system. A mount point of
 * another file system does not belong to the walk and is no failure.
 */
void files_failed(struct files *files, const struct found_file *file, struct failure failure);

/* The failure of a file that is given up, after which a thread of this process is stuck. */
struct failure files_give_up(struct files *files);

/*
 * Before and after another loop over the same files, in which no errors are printed. FIRST keeps what
 * the loop before it found. RET is what this loop returned. Returns RET, or -EAGAIN if other files
 * failed than the first time.
 */
int files_begin_again(struct files *files, struct files *ret_first);
int files_end_again(struct files *files, const struct files *first, int ret);

#endif
