"""Permission cases mean nothing as root: run them as a normal user even when the tests run as root."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import os
import pickle
import pkgutil
import traceback
import warnings
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
NORMAL_UID = 65534
NORMAL_GID = 65534


def is_root() -> bool:
    """Whether this process may do what a normal user may not."""
    return os.geteuid() == 0


def as_normal_user(call: Callable[[], Result]) -> Result:
    """What `call()` returns or raises, called by a normal user.

    As root, a forked child gives up its groups, gid and uid and calls it there, so what the call
    changes in memory stays in the child; its result or error comes back pickled. As a normal user it
    is a plain call. The files it works on must be reachable for uid 65534: take them from the
    fixture `normal_folder`, since pytest's own temporary folders are closed to others.

    Raises:
        AssertionError: the child ended without an answer, or with one that cannot be pickled.
    """
    if not is_root():
        return call()
    # The interpreter may stand where a normal user cannot read it: nothing is left to be imported later.
    _import_all("deskshell")
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork beside threads (xdist has some); the child starts none and takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reader)
        _answer(writer, call)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    _, status = os.waitpid(pid, 0)
    if not data:
        raise AssertionError(
            f"the normal user's process gave no answer, exit {os.waitstatus_to_exitcode(status)}"
        )
    error, result = pickle.loads(data)  # from our own child
    if error is not None:
        raise error
    return cast("Result", result)


def _answer(writer: int, call: Callable[[], object]) -> None:
    """In the child: give up root, call, send (error, result), and end without running any cleanup of pytest."""
    try:
        os.setgroups([])
        os.setgid(NORMAL_GID)
        os.setuid(NORMAL_UID)
        try:
            data = pickle.dumps((None, call()))
        except BaseException as exc:  # the parent raises it again, pytest's own outcomes included
            data = _pickled_error(exc)
        with os.fdopen(writer, "wb") as answer:
            answer.write(data)
    finally:
        os._exit(0)


def _pickled_error(exc: BaseException) -> bytes:
    told = "".join(traceback.format_exception(exc))
    try:
        data = pickle.dumps((exc, None))
        pickle.loads(data)
    except Exception:  # errors with their own __init__ often pickle but do not come back
        return pickle.dumps((AssertionError(told), None))
    return data


def _import_all(package_name: str) -> None:
    for encoding in ("ascii", "latin-1", "utf-16", "idna"):  # these are modules, too
        codecs.lookup(encoding)
    package = importlib.import_module(package_name)
    for module in pkgutil.walk_packages(package.__path__, package_name + "."):
        if module.name.endswith(".__main__"):
            continue
        with contextlib.suppress(
            ImportError
        ):  # an extra that is not installed; a call that needs it will say so
            importlib.import_module(module.name)
