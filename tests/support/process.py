"""deskshell as its users meet it: a process, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Home:
    """The two folders a user of deskshell has; the state folder is not made beforehand."""

    user: Path
    state: Path

    @classmethod
    def below(cls, folder: Path) -> Home:
        """A home in `folder`; makes the user's folder only."""
        home = cls(user=folder / "home", state=folder / "state")
        home.user.mkdir(parents=True)
        return home

    def environment(self) -> dict[str, str]:
        """The whole environment of a deskshell process: nothing of the person who runs the tests gets in."""
        return {
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.user),
            "DESKSHELL_HOME": str(self.state),
            "PYTHONPATH": str(CHECKOUT),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }


@dataclass(frozen=True)
class Completed:
    """A command that has ended: exit code (-n for signal n), standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, read as the one JSON value that `--json` promises."""
        return json.loads(self.out)


def run_deskshell(
    *args: str | os.PathLike[str],
    home: Home,
    input: str = "",  # noqa: A002 - the name subprocess.run gives it
    env: Mapping[str, str | None] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout_s: float = 120,
) -> Completed:
    """Run `deskshell ARGS` to its end.

    Args:
        args: as on the command line, the program's name left out.
        home: whose files and state it sees.
        input: standard input, whole; end of file follows.
        env: variables to add to `home.environment()`, or with None to take from it.
        cwd: working directory; the user's home by default.
        timeout_s: seconds after which it is killed.

    Raises:
        subprocess.TimeoutExpired: it ran longer than `timeout_s`.
        UnicodeDecodeError: it printed what is not UTF-8, which it never may.
    """
    environment = home.environment()
    for name, value in (env or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    done = subprocess.run(
        [sys.executable, "-m", "deskshell", *(os.fspath(arg) for arg in args)],
        input=input.encode(),
        capture_output=True,
        env=environment,
        cwd=cwd or home.user,
        timeout=timeout_s,
        check=False,
    )
    return Completed(done.returncode, done.stdout.decode(), done.stderr.decode())
