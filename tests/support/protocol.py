"""A server process spoken to line by line, as a client of any revision of the protocol would."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WAIT_S = 60.0


class Wire:
    """`deskshell mcp` on pipes. Every line of its standard output is kept in `lines`, and has to be JSON-RPC.

    `answer` is what the person says when a client of a handshake revision is asked: accept, decline, cancel.
    """

    def __init__(self, environment: dict[str, str], *args: str, cwd: Path, code: str | None = None) -> None:
        program = ["-m", "deskshell"] if code is None else ["-c", code]
        self.process = subprocess.Popen(
            [sys.executable, *program, "mcp", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
        )
        self.lines: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.answer: Callable[[str], dict[str, Any]] = lambda _: {"action": "cancel"}
        self._buffer = b""
        self._number = 0

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> tuple[int, str]:
        """Hang up and wait for the end; returns the exit code and standard error."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stdin.closed:
            process.stdin.close()
        try:
            process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
        if not process.stdout.closed:
            self._take(process.stdout.read())
            process.stdout.close()
        error = "" if process.stderr.closed else process.stderr.read().decode()
        process.stderr.close()
        return process.wait(), error

    def kill(self) -> None:
        """SIGKILL: what it was about to say is not read."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process.wait()

    def interrupt(self, signum: int = signal.SIGINT) -> tuple[int, str]:
        """Send a signal and wait for the end."""
        self.process.send_signal(signum)
        self.process.wait(_WAIT_S)
        return self.close()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, revision: str, capabilities: dict[str, Any] | None = None) -> str:
        """The handshake of a revision that has one; returns the revision that the server chose."""
        answer = self.request(
            "initialize",
            {
                "protocolVersion": revision,
                "capabilities": capabilities or {},
                "clientInfo": {"name": "test", "version": "0"},
            },
        )
        self.send({"method": "notifications/initialized"})
        return str(answer["protocolVersion"])

    def post(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and do not wait; returns its number."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request, answer what the server asks meanwhile, and return the result. Raises on an error."""
        number = self.post(method, params or {})
        while True:
            line = self.read()
            if line.get("id") == number and "method" not in line:
                assert "result" in line, line
                result: dict[str, Any] = line["result"]
                return result
            if line.get("method") == "elicitation/create":
                self.asked.append(line["params"]["message"])
                self.send({"id": line["id"], "result": self.answer(line["params"]["message"])})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; the whole result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def read(self) -> dict[str, Any]:
        """The next message of the server."""
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], _WAIT_S)
            assert ready, f"no answer; {self.lines[-3:]}"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the server hung up"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return self._keep(line)

    def _take(self, data: bytes) -> None:
        self._buffer += data
        for line in self._buffer.splitlines():
            self._keep(line)
        self._buffer = b""

    def _keep(self, line: bytes) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert "method" in message or "result" in message or "error" in message
        self.lines.append(message)
        return message
