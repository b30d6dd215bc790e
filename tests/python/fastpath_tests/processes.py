# SPDX-License-Identifier: GPL-2.0-only
"""Processes that do not outlive who started them."""

import concurrent.futures
import contextlib
import glob
import os
import signal
import subprocess
import sys
import threading
import time

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# For processes to clean up after a signal
SECONDS_TO_END = 120


def end_on_signals(leave=sys.exit):
    """As on an error: what runs is stopped, and what was made is removed; a further signal does not cut that short.

    LEAVE raises an exception, given the exit status.
    """

    def end(number, _):
        for other in ended_by:
            signal.signal(other, signal.SIG_IGN)
        leave(128 + number)

    # nohup ignores SIGHUP.
    ended_by = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    for number in ended_by:
        signal.signal(number, end)


@contextlib.contextmanager
def signals_later():
    """The first signal of what runs in here comes at its end. For what makes something, up to where it is known how to undo
    it, and for what undoes it.

    Programs that are started meanwhile do not wait. Python handles signals in the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    handlers = {number: signal.getsignal(number) for number in ENDING}
    handlers = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    handle({number: lambda number, _: came.append(number) for number in handlers})
    try:
        yield
    finally:
        handle(handlers)
        if came:
            signal.raise_signal(came[0])


def handle(handlers):
    """All of them, or a signal in between would find some."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def undo(function, *arguments):
    with signals_later():
        function(*arguments)


def stop(process):
    if process.poll() is None:
        process.terminate()
    process.wait()


def start(processes, *command, **options):
    """A program that is stopped if it still runs when PROCESSES is left, and not by the signals of a terminal."""
    with signals_later():
        process = subprocess.Popen(command, start_new_session=True, **options)
        processes.callback(stop, process)
    return process


def wait_for(processes, *command, **options):
    """The exit status of the command"""
    return start(processes, *command, **options).wait()


def both(processes, first, second):
    """Two calls at the same time. If one fails, or a signal comes, the other's process is stopped."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            return [future.result() for future in [pool.submit(first), pool.submit(second)]]
        except BaseException:
            processes.close()
            raise


class Groups:
    """Starts commands, each in a process group of its own. At its end no process of these groups is left.

    Several threads may start commands. A thread that starts one after the end is ended.
    """

    def __init__(self):
        self.groups = set()
        self.ended = False
        self.lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.lock:
            self.ended = True
            groups = list(self.groups)
        for group in groups:
            signal_group(group, signal.SIGTERM)
        for group in groups:
            end_group(group)

    def start(self, *command, **options):
        with signals_later(), self.lock:
            if self.ended:
                sys.exit()
            process = subprocess.Popen(command, process_group=0, **options)
            self.groups.add(process.pid)
        return process

    def wait(self, process, **timeout):
        """The exit status. Then nothing is left of the process's group."""
        status = process.wait(**timeout)
        end_group(process.pid)
        self.groups.discard(process.pid)
        return status


def signal_group(group, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def group_runs(group):
    """Whether the group has a process that is not a zombie."""
    for path in glob.iglob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state != b"Z":
                return True
    return False


def end_group(group):
    deadline = time.monotonic() + SECONDS_TO_END
    if group_runs(group):
        signal_group(group, signal.SIGTERM)
    while group_runs(group):
        if time.monotonic() > deadline:
            signal_group(group, signal.SIGKILL)
        time.sleep(0.1)
