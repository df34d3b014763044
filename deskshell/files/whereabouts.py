"""Where an open folder is now, as Linux tells in /proc: in place of looking its path up once more.

`/proc/self/fd/N` gives the path of what N is open on by the names that the kernel itself knows, so it has no link
in it, and follows every rename. Once a path was looked up and led to the folder, as long as this is equal to the
path it does so still, at a third of the price, but for three things, each of which is asked for here:

- A mount laid over the folder, or over one above it, does not show. poll(2) on the list of mounts tells that it
  has changed; then every folder has to be looked up again first.
- Names on network and FUSE file systems change behind the kernel's back: only folders are answered for that lie,
  with all folders above them, on file systems that the kernel alone changes.
- A removed folder gets " (deleted)" behind its name, as another may be called: those are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from deskshell.files import syscalls
from deskshell.files.opening import O_CLOEXEC, O_DIRECTORY, O_PATH
from deskshell.files.paths import is_within

_KERNELS_OWN = frozenset(
    (b"ext2", b"ext3", b"ext4", b"xfs", b"btrfs", b"f2fs", b"bcachefs", b"tmpfs", b"ramfs", b"overlay")
)
_PROC_MAGIC = 0x9FA0
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Whereabouts:
    """Tells of open folders that were found at their paths once whether they are still there; see the module.

    Without /proc it never knows.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[bytes, bytes]] = {}  # descriptor → path, and its name in /proc/self/fd
        self._foreign: list[bytes] = []  # where file systems are mounted of which others may change the names
        self._fds = self._mounts = -1
        self._changed: Callable[[int], object] = bool  # asked with a time to wait for a change of mounts
        try:
            self._open()
        except (OSError, ValueError):
            self.close()

    def _open(self) -> None:
        if not syscalls.LINUX:
            return
        import select  # what only looks at the state folder does without

        self._mounts = os.open(b"/proc/self/mountinfo", os.O_RDONLY | O_CLOEXEC)
        watch = select.poll()
        watch.register(self._mounts, select.POLLPRI)
        self._changed = watch.poll
        self._read_mounts()
        self._fds = os.open(b"/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC)
        if syscalls.fstatfs(self._fds)[0] != _PROC_MAGIC:
            self.close()

    def _read_mounts(self) -> None:
        os.lseek(self._mounts, 0, os.SEEK_SET)
        with open(self._mounts, "rb", closefd=False) as file:
            self._foreign = [point for point, kind in map(_mount, file) if kind not in _KERNELS_OWN]

    def found(self, fd: int, path: bytes) -> None:
        """Take note that `path` was just looked up, and led to the folder that is open as `fd`."""
        if (
            self._fds < 0
            or path.endswith(b" (deleted)")
            or any(is_within(path, each) for each in self._foreign)
        ):
            return
        self._found[fd] = (path, b"%d" % fd)

    def still_at(self, fd: int, path: bytes) -> bool:
        """True when the folder `fd` is still where it was `found`, at `path`; False when that is not known."""
        found = self._found.get(fd)
        if found is None or found[0] != path:
            return False
        try:
            if os.readlink(found[1], dir_fd=self._fds) != path:
                return False
            if not self._changed(0):
                return True
            self._found.clear()
            self._read_mounts()
        except (OSError, ValueError):  # a path that is too long; no /proc any more
            self._found.pop(fd, None)
        return False

    def forget(self, fd: int) -> None:
        """Take note that `fd` is closed."""
        self._found.pop(fd, None)

    def close(self) -> None:
        """Know nothing from now on. May be called twice."""
        self._found.clear()
        for fd in (self._fds, self._mounts):
            if fd >= 0:
                os.close(fd)
        self._fds = self._mounts = -1


def _mount(line: bytes) -> tuple[bytes, bytes]:
    """Where a line of mountinfo says that something is mounted, and of which kind (proc(5)).

    Raises:
        ValueError: it is no such line.
    """
    before, _, after = line.partition(b" - ")
    point, kind = before.split(b" ", 5)[4:5], after.split(b" ", 1)
    if not point or len(kind) < 2:
        raise ValueError(f"not a line of mountinfo: {line!r}")
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 8),)), point[0]), kind[0]
