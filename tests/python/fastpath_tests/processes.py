# SPDX-License-Identifier: GPL-2.0-only
"""Processes that do not outlive who started them."""

import concurrent.futures
import contextlib
import signal
import subprocess
import sys
import threading


def end_on_signals():
    """As on an error: what runs is stopped, and what was made is removed; a further signal does not cut that short."""

    def end(number, _):
        for other in ended_by:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    # nohup ignores SIGHUP.
    ended_by = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
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
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
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


def wait_for(processes, *command, **options):
    """The exit status of the command. If it still runs when PROCESSES is left, it is stopped."""
    process = subprocess.Popen(command, **options)
    processes.callback(stop, process)
    return process.wait()


def both(processes, first, second):
    """Two calls at the same time. If one fails, or a signal comes, the other's process is stopped."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            return [future.result() for future in [pool.submit(first), pool.submit(second)]]
        except BaseException:
            processes.close()
            raise
