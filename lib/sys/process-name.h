/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROCESS_NAME_H
#define FASTPATH_PROCESS_NAME_H

#include <stdbool.h>
#include <sys/types.h>

/* of a process or a thread, with the NUL byte */
#define PROCESS_NAME_SIZE 17

/*
 * The process of the thread TID, and its name, which can have any bytes.
 * Returns 0, -ESRCH if the thread has ended, or a negative errno as open(2). Rests on proc(5).
 */
int process_of_thread(pid_t tid, pid_t *ret_pid, char ret_name[PROCESS_NAME_SIZE]);

/*
 * Whether processes have the IDs here that they have in the first PID namespace, as in traces. Rests on
 * pid_namespaces(7), and on the number of the first one (include/linux/proc_ns.h).
 */
bool in_first_pid_namespace(void);

#endif
