"""Points in time as typed: a span back from now, or a date."""

from __future__ import annotations

import time
from datetime import datetime

from deskshell.config import duration_s
from deskshell.errors import UsageError


def since_ms(text: str, *, now_ms: int | None = None) -> int:
    """Milliseconds since the epoch of `text`, as `--since` takes it.

    Args:
        text: `30m`, `2h`, `1d` before now; or a date with or without a time (ISO 8601), in the local zone with
            the offset that was valid on that date unless it names its own.
        now_ms: the present; the clock's by default.

    Raises:
        UsageError: it is neither.
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    try:
        span_s = duration_s(text)
    except ValueError:
        pass
    else:
        return max(now_ms - round(min(span_s, 1e12) * 1000), 0)
    try:
        return round(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as exc:
        raise UsageError(
            f"`{text}` is no point in time", hint='give 30m, 2h or 1d, or a date such as "2026-01-15 09:30"'
        ) from exc
