"""Standard input that can be ended from this side: a signal closes it, and the server comes to its own end.

The SDK reads in a thread that nothing can wake but input. So a thread of ours reads the client's pipe, hands on
what comes, and stops when it is told to.
"""

from __future__ import annotations

import io
import os
import select
import sys
import threading


class EndableInput:
    """Takes the place of `sys.stdin`, and leaves the null device as descriptor 0 to whatever else may read it."""

    def __init__(self) -> None:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        try:
            self._client = os.dup(0)
        except OSError:  # closed by whoever started us: a client that has hung up already
            self._client = os.dup(nowhere)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        reading, self._writing = os.pipe()
        self._told, self._tell = os.pipe()
        sys.stdin = io.TextIOWrapper(os.fdopen(reading, "rb"), encoding="utf-8", errors="replace")
        threading.Thread(target=self._hand_on, name="stdin", daemon=True).start()

    def end(self) -> None:
        """As if the client had hung up. Safe in a signal handler."""
        os.write(self._tell, b"x")

    def _hand_on(self) -> None:
        try:
            while True:
                ready, _, _ = select.select([self._client, self._told], [], [])
                data = b"" if self._told in ready else os.read(self._client, 1 << 16)
                if not data:
                    return
                while data:
                    data = data[os.write(self._writing, data) :]
        except OSError:
            pass  # the server has ended, or the client's pipe broke
        finally:
            os.close(self._writing)
