"""Settings: defaults < config file < environment < options.

    config file           environment                   default
    home (absolute)       DESKSHELL_HOME                the platform's user state folder
    skills                DESKSHELL_SKILLS              `skills` beside the config file
    journal_max_bytes     DESKSHELL_JOURNAL_MAX_BYTES   5 MiB
    plan_ttl              DESKSHELL_PLAN_TTL            10m
    keep                  DESKSHELL_KEEP                30d
    max_bytes             DESKSHELL_MAX_BYTES           10 % of the state folder's file system
    max_copy              DESKSHELL_MAX_COPY            10 GiB
    lock_wait             DESKSHELL_LOCK_WAIT           2s
    landlock              (config file only)            true
    irreversible          (config file only)            ask
    reversible            (config file only)            none

The config file is TOML; `DESKSHELL_CONFIG` names another than the platform's. What
guards has no variable: an agent's host may set its environment, the file is written by a person.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deskshell.errors import UsageError
from deskshell.slotted import slotted

POLICIES = ("flag", "ask", "person", "terminal")

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_IS_LINUX: bool = sys.platform.startswith("linux")  # a name, so that mypy checks what follows on Linux too
_XDG = {
    "user_state_path": ("XDG_STATE_HOME", ".local/state"),
    "user_config_path": ("XDG_CONFIG_HOME", ".config"),
}
_VARIABLES = {
    "home": "DESKSHELL_HOME",
    "skills": "DESKSHELL_SKILLS",
    "journal_max_bytes": "DESKSHELL_JOURNAL_MAX_BYTES",
    "plan_ttl": "DESKSHELL_PLAN_TTL",
    "keep": "DESKSHELL_KEEP",
    "max_bytes": "DESKSHELL_MAX_BYTES",
    "max_copy": "DESKSHELL_MAX_COPY",
    "lock_wait": "DESKSHELL_LOCK_WAIT",
}


@slotted(frozen=True)
class Settings:
    """What deskshell goes by. Change one with `slotted.replace`.

    Attributes:
        home: the state folder, absolute; need not exist.
        skills_folder: where the user's own skills live, absolute; need not exist.
        journal_max_bytes: size above which the journal is rotated.
        plan_ttl_s: seconds for which a stored plan may be applied.
        keep_s: age in seconds after which undo data expires.
        max_bytes: what undo data may take up; None is 10 % of the state folder's file system.
        max_copy: what one copy may take, in bytes, that is made because a rename cannot help.
        landlock: whether a task walls itself in where the system can (`kernel.wall`).
        lock_wait_s: seconds a command waits for the lock before it gives up.
        irreversible: consent that a plan with irreversible steps takes from an agent: `flag` (its
            own), `ask` (a person too, where its host can ask one), `person` or `terminal`.
        reversible: the same for plans that can be undone; `none` takes no consent.
        config_file: the file that was read, None when there is none.
    """

    home: Path
    skills_folder: Path
    journal_max_bytes: int = 5 << 20
    plan_ttl_s: float = 600.0
    keep_s: float = 30 * 86400.0
    max_bytes: int | None = None
    max_copy: int = 10 << 30
    lock_wait_s: float = 2.0
    landlock: bool = True
    irreversible: str = "ask"
    reversible: str = "none"
    config_file: Path | None = None


def load(env: Mapping[str, str], config_file: Path | None = None) -> Settings:
    """The settings of a process with the environment `env`.

    Args:
        env: variables; an empty one counts as not set.
        config_file: read instead of the one that `DESKSHELL_CONFIG` or the platform names; must exist.

    Raises:
        UsageError: a value is wrong, a key unknown, or the file cannot be read; names file or variable.
    """
    path = _config_path(env, config_file)
    values = _Values(env, path, {} if path is None else _read(path))
    values.refuse_unknown()
    home = values.get("home", _same_everywhere(_path_in(env)))
    skills = values.get("skills", _path_in(env))
    return Settings(
        home=home or _platform(env, "user_state_path"),
        skills_folder=skills or _platform(env, "user_config_path") / "skills",
        journal_max_bytes=values.get("journal_max_bytes", _positive(size_bytes), 5 << 20),
        plan_ttl_s=values.get("plan_ttl", _positive(_seconds), 600.0),
        keep_s=values.get("keep", duration_s, 30 * 86400.0),
        max_bytes=values.get("max_bytes", size_bytes),
        lock_wait_s=values.get("lock_wait", _seconds, 2.0),
        max_copy=values.get("max_copy", size_bytes, 10 << 30),
        landlock=values.get("landlock", _yes_or_no, True),
        irreversible=values.get("irreversible", _one_of(POLICIES), "ask"),
        reversible=values.get("reversible", _one_of(("none", *POLICIES)), "none"),
        config_file=path,
    )


def duration_s(text: object) -> float:
    """Seconds of a duration such as `45s`, `30m`, `2h`, `1d` or `2w`.

    Raises:
        ValueError: `text` is none; the message says what one looks like.
    """
    if isinstance(text, str):
        number, unit = text.strip()[:-1].strip(), text.strip()[-1:].lower()
        if unit in _SECONDS and _is_number(number):
            return float(number) * _SECONDS[unit]
    raise ValueError("a duration is a number and s, m, h, d or w, such as `30m`, `2h` or `1d`")


def size_bytes(text: object) -> int:
    """Bytes of a size such as `600`, `64 MiB`, `5GB` (k is 1000, Ki is 1024).

    Raises:
        ValueError: `text` is none; the message says what one looks like.
    """
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    if isinstance(text, str):
        word = text.strip().lower()
        number = word.rstrip("bikmgt ")
        unit = word[len(number) :].strip()
        scale = _BINARY.get(unit[0]) if unit[1:] in ("i", "ib") else _BYTES.get(unit.removesuffix("b"))
        if scale is not None and _is_number(number):
            return int(float(number) * scale)
    raise ValueError("a size is a number of bytes, or one with a unit, such as `600`, `64 MiB` or `5 GB`")


def _is_number(text: str) -> bool:
    whole, point, fraction = text.partition(".")
    digits = whole + (fraction if point else "")
    return bool(whole) and digits.isascii() and digits.isdigit() and len(digits) <= 18


def _seconds(value: object) -> float:
    """A duration; a bare number is seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return float(value)
    if isinstance(value, str) and _is_number(value.strip()):
        return float(value)
    return duration_s(value)


def _yes_or_no(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("it is true or false")


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(f"it is one of {', '.join(f'`{word}`' for word in words)}")

    return read


def _positive(read: Callable[[object], Any]) -> Callable[[object], Any]:
    def checked(value: object) -> Any:
        number = read(value)
        if number <= 0:
            raise ValueError("it must be more than 0")
        return number

    return checked


def _path_in(env: Mapping[str, str]) -> Callable[[object], Path]:
    def read(value: object) -> Path:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("it is the path of a folder")
        user = env.get("HOME")
        if user and (value == "~" or value.startswith("~/")):
            return Path(user, value[2:])
        try:
            return Path(value).expanduser().absolute()
        except RuntimeError as exc:  # no such user, or no home
            raise ValueError(str(exc).lower()) from exc

    return read


def _same_everywhere(read: Callable[[object], Path]) -> Callable[[object], Path]:
    """No relative path: `undo` has to find the journal of what was run in another directory."""

    def checked(value: object) -> Path:
        path = read(value)
        if not (Path(str(value)).is_absolute() or str(value).startswith("~")):
            raise ValueError(
                "a relative path would be another state folder in each directory; write `/…` or `~/…`"
            )
        return path

    return checked


class _Values:
    """The values given for each key, environment before file, and where each comes from."""

    def __init__(self, env: Mapping[str, str], path: Path | None, data: Mapping[str, Any]) -> None:
        self._env = env
        self._path = path
        self._data = data
        self._known: list[str] = [*_VARIABLES, "landlock", "irreversible", "reversible"]

    def get(self, key: str, read: Callable[[object], Any], default: Any = None) -> Any:
        """The value of `key` as `read` gives it. Raises UsageError naming variable or file."""
        variable = _VARIABLES.get(key)
        given: object = self._env.get(variable) if variable else None
        where = f"`{variable}`"
        if not given:
            if key not in self._data:
                return default
            given, where = self._data[key], f"`{key}` in `{self._path}`"
        try:
            return read(given)
        except ValueError as exc:
            raise UsageError(f"{where} is `{given}`, which is no value for it", hint=str(exc)) from exc

    def refuse_unknown(self) -> None:
        """Refuse a key that means nothing, so that a typing error does not pass for a setting."""
        for key in self._data:
            if key not in self._known:
                import difflib

                near = difflib.get_close_matches(key, self._known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(self._known)}"
                raise UsageError(f"unknown key `{key}` in `{self._path}`", hint=hint)


def _config_path(env: Mapping[str, str], given: Path | None) -> Path | None:
    """The config file to read, None when none was named and the platform's does not exist."""
    if given is not None:
        return given.absolute()
    named = env.get("DESKSHELL_CONFIG")
    if named:
        path: Path = _path_in(env)(named)
        return path
    path = _platform(env, "user_config_path") / "config.toml"
    return path if os.path.lexists(path) else None


def _platform(env: Mapping[str, str], function: str) -> Path:
    """One of the platform's folders for deskshell.

    On Linux by the XDG base directory specification, which is two lines; platformdirs, which says the same,
    takes a third of the time that `deskshell undo` has to start. Elsewhere it is asked.
    """
    if _IS_LINUX:
        variable, below_home = _XDG[function]
        base = env.get(variable, "")
        folder = Path(base) if base.startswith("/") else _path_in(env)(f"~/{below_home}")
        return folder / "deskshell"
    import platformdirs

    found: Path = getattr(platformdirs, function)("deskshell", appauthor=False)
    return found


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not _is_trusted(status):
                raise UsageError(
                    f"the config file `{path}` belongs to another user, or everybody may write to it",
                    hint="it decides what asks for your consent: make it yours, mode 0644 or less",
                )
            return tomllib.load(file)
    except OSError as exc:
        raise UsageError(
            f"the config file `{path}` cannot be read: {(exc.strerror or str(exc)).lower()}",
            hint="name another with `DESKSHELL_CONFIG`, or unset it",
        ) from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise UsageError(
            f"the config file `{path}` is no valid TOML: {exc}", hint="see https://toml.io"
        ) from exc


def _is_trusted(status: os.stat_result) -> bool:
    foreign = hasattr(os, "geteuid") and status.st_uid not in (0, os.geteuid())
    return not foreign and not status.st_mode & stat.S_IWOTH
