"""Numbers, times and paths as people read them."""

from __future__ import annotations

import os
import time

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``10,000 steps``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(size_bytes: int) -> str:
    """``0 B``, ``820 B``, ``1.2 kB``, ``34 MB``; powers of 1000, as disks are sold and file managers show."""
    number, unit = float(size_bytes), 0
    while number >= 999.5 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    digits = 1 if unit and number < 9.95 else 0
    return f"{number:.{digits}f} {_UNITS[unit]}"


def seconds(seconds_s: float) -> str:
    """``0.2 s``, ``14 s``, ``3 min 20 s``."""
    return f"{seconds_s:.1f} s" if seconds_s < 9.95 else whole_seconds(seconds_s)


def whole_seconds(seconds_s: float) -> str:
    """The same without tenths, for what is only estimated."""
    whole = round(seconds_s)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    )


def when(at_ms: int) -> str:
    """A moment in local time, such as ``2026-01-15 09:30:05``."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000))
    except (OverflowError, OSError, ValueError):  # a clock that was far off
        return f"{at_ms} ms"


def shell_path(path: str) -> str:
    """`path` with the user's home as `~`, for showing."""
    home = os.path.expanduser("~")
    if home != "/" and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path
