"""What every command needs: the app with this process's settings, and this person's answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from deskshell.cli import output
from deskshell.errors import UsageError

if TYPE_CHECKING:
    from deskshell.app import App
    from deskshell.kernel.context import Progress


def open_app(*, progress: bool = False) -> App:
    """The app; `progress` says that long work may be shown, which a terminal on standard error takes too.

    Raises:
        UsageError: a setting is wrong.
    """
    from deskshell import config
    from deskshell.app import App

    shown: Progress | None = None
    if progress and output.is_terminal(sys.stderr):
        from deskshell.cli.progress import Delayed

        shown = Delayed()
    return App(config.load(os.environ), progress=shown, front="cli")


def working_folder() -> Path:
    """Where the user stands. Raises UsageError when that folder is gone."""
    try:
        return Path.cwd()
    except OSError as exc:
        raise UsageError(
            "the working directory does not exist any more", hint="change to another with `cd`"
        ) from exc


class Secrets(Mapping[str, str]):
    """Values of secret parameters, each taken when it is first asked for and never shown.

    From the variable `DESKSHELL_SECRET_<NAME>`, else from a prompt on a terminal; a name that
    neither gives is not in the mapping.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._values: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            value = self._env.get(f"DESKSHELL_SECRET_{name.upper().replace('-', '_')}") or self._prompt(name)
            if not value:
                raise KeyError(name)
            self._values[name] = value
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return True  # never taken for "none given": values come when they are asked for

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"

    @staticmethod
    def _prompt(name: str) -> str | None:
        if not (output.is_terminal(sys.stdin) and output.is_terminal(sys.stderr)):
            return None
        import getpass

        try:
            return getpass.getpass(f"value of the secret `{output.safe(name)}`: ", stream=sys.stderr)
        except EOFError:
            return None
