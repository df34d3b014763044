"""Ask the server of a sweep to do one part of a point: `python -I -S ask.py SOCKET setup|recover|check SHAPE`.

Imports next to nothing, because it runs three times a point. In a traced process (a recovery that is itself swept)
the part is done right here, so that the trace sees its calls.
"""

import os
import socket
import sys

WORLD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "world.py")


def traced() -> bool:
    """True when a seccomp filter watches this process."""
    with open("/proc/self/status") as status:
        return any(line.split() == ["Seccomp:", "2"] for line in status)


def main(address: str, *part: str) -> int:
    """The exit status of the part."""
    if traced():
        os.execv(sys.executable, [sys.executable, WORLD, *part])
    fields = [os.getcwd(), *part, *(f"{name}={value}" for name, value in os.environ.items())]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(address)
        socket.send_fds(line, ["\0".join(fields).encode(errors="surrogateescape")], [1, 2])
        line.shutdown(socket.SHUT_WR)
        answer = line.recv(16)
    return int(answer or b"70")  # no answer: the part itself died


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
