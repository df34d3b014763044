"""Does the undisturbed parts of a sweep's points in forks of a process that has imported everything.

Set-up, recovery and judgement take five fresh interpreters a point otherwise, which is most of a sweep's time. Each
part, and each `deskshell` in it, is still a process of its own; the command under test never comes from here.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server while the block runs; gives its address."""
    address = str(folder / "server")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen(64)
        pid = os.fork()
        if not pid:
            _serve(door)
    try:
        yield address
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def deskshell(
    program: list[str], arguments: list[str], folder: Path, env: Mapping[str, str], out: int, err: int
) -> int:
    """Run `program`, which is deskshell, in a process of its own: here in a fork. Returns its exit status."""
    if "deskshell.cli.main" not in sys.modules:
        return subprocess.run(
            [*program, *arguments], cwd=folder, env=env, stdout=out, stderr=err, check=False
        ).returncode
    pid = os.fork()
    if not pid:
        os.chdir(folder)
        _become(env, out, err)
        sys.argv = ["deskshell", *arguments]
        from deskshell.cli.main import main

        _leave(_status_of(main))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _serve(door: socket.socket) -> NoReturn:
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the parts: they answer for themselves
    while True:
        line, _ = door.accept()
        with line:
            if not os.fork():
                door.close()
                _leave(_part(line))


def _part(line: socket.socket) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, (out, err), _, _ = socket.recv_fds(line, 1 << 16, 2)
    while more := line.recv(1 << 16):
        data += more
    folder, what, shape, *pairs = data.decode(errors="surrogateescape").split("\0")
    os.chdir(folder)
    _become(dict(pair.split("=", 1) for pair in pairs), out, err)
    from scripts.sweeping.world import main

    status = _status_of(lambda: sys.exit(main([what, shape])))
    line.sendall(str(status).encode())
    return status


def _become(env: Mapping[str, str], out: int, err: int) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.dup2(out, 1)
    os.dup2(err, 2)


def _status_of(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def _leave(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _import_everything() -> None:
    import deskshell

    for module in pkgutil.walk_packages(deskshell.__path__, "deskshell."):
        if not module.name.startswith(
            ("deskshell.mcp", "deskshell.__main__")
        ):  # an extra, and not under test
            importlib.import_module(module.name)
    importlib.import_module("scripts.sweeping.world")
