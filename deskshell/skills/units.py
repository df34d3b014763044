"""Quantities as people write them: durations (`30m`, `2h`, `1d`) and sizes (`10MB`, `4KiB`)."""

from __future__ import annotations

import re

from deskshell.errors import UsageError
from deskshell.slotted import slotted

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"([0-9]{1,9})\s*([smhdw])")
_SIZE = re.compile(r"([0-9]{1,15})(\.[0-9]{1,9})?\s*([A-Za-z]*)")
_BYTES = {
    "": 1, "b": 1,
    "k": 1000, "kb": 1000, "m": 1000**2, "mb": 1000**2, "g": 1000**3, "gb": 1000**3, "t": 1000**4, "tb": 1000**4,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip


@slotted(frozen=True)
class Duration:
    """A length of time; `text` is how it was written."""

    seconds: int
    text: str

    @property
    def ns(self) -> int:
        """The same in nanoseconds."""
        return self.seconds * 1_000_000_000


def parse_duration(text: str) -> Duration:
    """`30m`, `2h`, `1d`; also seconds (`s`) and weeks (`w`). `0s` is no time at all.

    Raises:
        UsageError: anything else.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"`{text}` is no duration", hint="write a whole number and a unit: 30s, 30m, 2h, 1d or 1w"
        )
    return Duration(int(found[1]) * _SECONDS[found[2]], text.strip())


def parse_size(text: str) -> int:
    """Bytes in `10MB` (powers of 1000) or `4KiB` (powers of 1024); a bare number is bytes.

    Raises:
        UsageError: anything else.
    """
    found = _SIZE.fullmatch(text.strip())
    unit = _BYTES.get(found[3].lower()) if found else None
    if found is None or unit is None:
        raise UsageError(f"`{text}` is no size", hint="write a number and a unit: 500kB, 10MB, 1.5GB or 4KiB")
    whole = int(found[1]) * unit
    return whole if found[2] is None else whole + int(float(found[2]) * unit)
