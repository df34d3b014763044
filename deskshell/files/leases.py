"""Whether somebody has a file open for writing at this moment."""

from __future__ import annotations

import errno
import signal


def is_being_written(fd: int) -> bool:
    """Whether any process has the regular file `fd` (open for reading) open for writing.

    Asks for a read lease and gives it back at once: the system grants none while there is a writer. A writer
    that comes a moment later is not seen, and False is also the answer where nobody can tell: for another
    user's file, on file systems without leases, and on other systems than Linux.

    Source: fcntl(2), "Leases".
    """
    try:
        import fcntl  # not there on Windows
    except ImportError:
        return False
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        # Whoever opens the file meanwhile breaks the lease, which is told by a signal: SIGIO would end us.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as exc:
        return exc.errno == errno.EAGAIN
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
