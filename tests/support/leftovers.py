"""What a test must not leave behind: open descriptors and running children."""

from __future__ import annotations

import contextlib
import gc
import os
from dataclasses import dataclass
from pathlib import Path

# Opened once by the interpreter or by pytest and kept; not the doing of the test that came first.
_HARMLESS = ("/dev/null", "/dev/urandom", "/dev/tty", "anon_inode:", "pipe:", "socket:")


@dataclass(frozen=True)
class Leftovers:
    """Descriptors (number → what it is) and children (pids) of this process at one moment."""

    descriptors: dict[int, str]
    children: frozenset[int]

    @classmethod
    def now(cls) -> Leftovers:
        """Empty where the system has no /proc to tell."""
        return cls(_descriptors(), _children())

    def since(self, before: Leftovers) -> list[str]:
        """What is here now and was not in `before`, a line each."""
        lines = [
            f"descriptor {number} is still open: {what}"
            for number, what in self.descriptors.items()
            if before.descriptors.get(number) != what and not what.startswith(_HARMLESS)
        ]
        return lines + [f"process {pid} still runs" for pid in sorted(self.children - before.children)]


def left_since(before: Leftovers) -> list[str]:
    """What was left open or running since `before`; garbage is collected first only if there seems to be any."""
    found = Leftovers.now().since(before)
    if found:
        gc.collect()
        found = Leftovers.now().since(before)
    return found


def _descriptors() -> dict[int, str]:
    found = {}
    folder = "/proc/self/fd"
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # the descriptor of this very listing is gone by now
                found[int(name)] = os.readlink(f"{folder}/{name}")
    return found


def _children() -> frozenset[int]:
    pids: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            pids.update(map(int, path.read_text().split()))
    return frozenset(pids)
