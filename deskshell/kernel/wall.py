"""The thread in which a task changes files: it may write in the task's folders and in the state folder only.

What `Places` refuses by path is refused here once more by the system (Landlock), whatever code runs. The
thread is made for the task and ends with it, for the restriction cannot be lifted. Signals stay with the
main thread, whose handlers set the flag that the task reads (`desk.StopFlag`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import TypeVar

from deskshell.errors import DeskshellError
from deskshell.files import landlock
from deskshell.files.opening import O_CLOEXEC, O_DIRECTORY, O_PATH
from deskshell.files.scope import Places

Result = TypeVar("Result")
THREAD = "deskshell-task"


def stands_here() -> bool:
    """Whether this system has what a wall takes."""
    return landlock.abi() > 0


def raise_wall(places: Places, own: Iterable[bytes], state: bytes) -> int:
    """Restrict this thread to the anchors of `places` and to the folder `state`.

    Args:
        places: the task's opened roots.
        own: roots that are themselves renamed or removed, which happens in the folder around them.
        state: the state folder.

    Returns:
        The version of Landlock in force, 0 when the wall does not stand.
    """
    wanted = set(own)
    with ExitStack() as opened:
        folders = []
        for anchor in places.anchors:
            folders.append(anchor.fd)
            if anchor.root in wanted and anchor.path == anchor.root:
                with suppress(DeskshellError, OSError):  # then the step that needs it says what is wrong
                    folders.append(places.at(anchor.root)[0])
        fd = os.open(state, O_PATH | O_DIRECTORY | O_CLOEXEC)
        opened.callback(os.close, fd)
        try:
            return landlock.restrict_thread([*folders, fd])
        except OSError:
            return 0


def in_own_thread(work: Callable[[], Result]) -> Result:
    """What `work()` returns or raises, called in a thread made for it."""
    done: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))
        try:
            done.append(work())
        except BaseException as exc:  # raised again where the work was asked for
            failed.append(exc)

    thread = threading.Thread(target=run, name=THREAD)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
