"""The one seam through which deskshell changes the disk, so that a test can end a run at any change.

Every call that changes something is counted: those of `os`, and the few that go through the C library
(`deskshell.files.syscalls`). What is only read is not. A plan of failure says what happens at the change
number `at`, counted from 0:

    Kill()            the process is dead: this call and every later one raises `Cut`, and so does no harm
    Kill(torn=True)   the same, but a write in progress has got half of its bytes to the file
    Fail(errno)       this call fails with `errno`; with `sticky` every later one like it does, too

`real_syncs=False` (the default) lets syncs be counted without being done: no test here cuts the power, and a
dead process loses nothing that it wrote.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from deskshell.files import syscalls
from deskshell.kernel import wall

_OS_CALLS = (
    "rename",
    "replace",
    "link",
    "symlink",
    "unlink",
    "remove",
    "rmdir",
    "mkdir",
    "mkfifo",
    "mknod",
    "open",
    "write",
    "pwrite",
    "copy_file_range",
    "ftruncate",
    "utime",
    "chmod",
    "fchmod",
    "chown",
    "setxattr",
    "removexattr",
)
_OS_SYNCS = ("fsync", "fdatasync", "sync")
#: Those that report a failure by returning its number.
_BY_CODE = ("rename_with_flags", "fchmodat2")
_PROBE = b".deskshell-probe-"


class Cut(BaseException):
    """The process has ended, as far as the code under test can tell."""


@dataclass(frozen=True)
class Kill:
    """End at the change `at`; `torn` lets a write get half of its bytes out first, `for_real` is a SIGKILL."""

    at: int
    torn: bool = False
    for_real: bool = False


@dataclass(frozen=True)
class Fail:
    """Let the change `at` fail with `number`; `sticky` fails every later call of the same name, too."""

    at: int
    number: int
    sticky: bool = False


@dataclass
class Seam:
    """What came through: the names of the calls in order, and whether the plan's moment came."""

    plan: Kill | Fail | None
    calls: list[str] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)

    @property
    def came(self) -> bool:
        """True once the planned moment has come."""
        return self.plan is not None and len(self.calls) > self.plan.at

    @property
    def dead(self) -> bool:
        """True once the process counts as killed."""
        return isinstance(self.plan, Kill) and self.came

    def enter(self, name: str) -> int:
        """Count a call; raises Cut, or returns the errno with which the call is to fail (0: it works)."""
        self.calls.append(name)
        here = len(self.calls) - 1
        if isinstance(self.plan, Kill) and here >= self.plan.at:
            if self.plan.for_real:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Cut(name)
        if isinstance(self.plan, Fail):
            if here == self.plan.at:
                if self.plan.sticky:
                    self.failing.add(name)
                return self.plan.number
            if name in self.failing:
                return self.plan.number
        return 0

    def tears(self, name: str) -> bool:
        """True when the call about to be entered is the write that the plan cuts in half."""
        return (
            name in ("write", "pwrite")
            and isinstance(self.plan, Kill)
            and self.plan.torn
            and len(self.calls) == self.plan.at
        )


@contextmanager
def seam(plan: Kill | Fail | None = None, *, real_syncs: bool = False) -> Iterator[Seam]:
    """Have all changes made by this thread (and the task it runs) within the block go through a `Seam` with `plan`.

    A `Cut` ends the block quietly, as the death of a process would.
    """
    found = Seam(plan)
    owner = threading.get_ident()
    with ExitStack() as stack:
        for name in (*_OS_CALLS, *_OS_SYNCS):
            if hasattr(os, name):
                do = None if name in _OS_SYNCS and not real_syncs else getattr(os, name)
                stack.enter_context(
                    mock.patch.object(os, name, _through(found, owner, name, getattr(os, name), do))
                )
        for name in _BY_CODE:
            call = _by_code(found, owner, name, getattr(syscalls, name))
            stack.enter_context(mock.patch.object(syscalls, name, call))
        stack.enter_context(mock.patch.object(syscalls, "syncfs", _syncfs(found, owner)))
        try:
            yield found
        except Cut:
            if not found.dead:
                raise


def _through(
    found: Seam, owner: int, name: str, real: Callable[..., Any], do: Callable[..., Any] | None
) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _counts(owner) or (name == "open" and not _creates(args, kwargs)):
            return real(*args, **kwargs)
        if found.tears(name):
            real(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:], **kwargs)
        number = found.enter(name)
        if number:
            raise OSError(number, os.strerror(number))
        return None if do is None else do(*args, **kwargs)

    return call


def _counts(owner: int) -> bool:
    """True in the thread `owner`, and in the one that a task of it runs in."""
    return threading.get_ident() == owner or threading.current_thread().name == wall.THREAD


def _creates(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    flags = args[1] if len(args) > 1 else kwargs.get("flags", 0)
    return bool(flags & (os.O_CREAT | os.O_TRUNC))


def _by_code(found: Seam, owner: int, name: str, real: Callable[..., int]) -> Callable[..., int]:
    def call(*args: Any) -> int:
        if not _counts(owner) or (len(args) > 1 and bytes(args[1]).startswith(_PROBE)):
            return real(*args)
        return found.enter(name) or real(*args)

    return call


def _syncfs(found: Seam, owner: int) -> Callable[[int], int]:
    def call(fd: int) -> int:
        return found.enter("syncfs") if _counts(owner) else 0

    return call


def without_syncs() -> ExitStack:
    """Have syncs do nothing until the returned stack is closed; for tests that cut no power."""
    stack = ExitStack()
    for name in _OS_SYNCS:
        stack.enter_context(mock.patch.object(os, name, return_value=None))
    stack.enter_context(mock.patch.object(syscalls, "syncfs", return_value=0))
    return stack
