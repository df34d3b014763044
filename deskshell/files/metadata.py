"""Mode, owner, times, extended attributes and ACLs of an object: read, set, and what could not be set.

Nothing here follows a link and nothing is opened for reading: an O_PATH descriptor pins the object, and
`/proc/self/fd/N` leads the calls that want a path to exactly that object, whatever its name leads to by then.
Where there is no /proc the calls go by name, without following.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from deskshell.files import syscalls
from deskshell.files.identity import Stat, stat_at, stat_fd
from deskshell.files.opening import O_CLOEXEC, O_NOFOLLOW

ACL_ACCESS = b"system.posix_acl_access"
ACL_DEFAULT = b"system.posix_acl_default"
_SETUID_SETGID = 0o6000
_NO_XATTRS = (errno.ENOTSUP, errno.ENOSYS, errno.ENODATA, errno.EPERM, errno.EACCES)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a copy keeps besides content: mode bits (0o7777), owner, times in ns, extended attributes.

    `xattrs` holds `user.*`, POSIX ACLs and `security.*`, and for root `trusted.*` too. `unread` names those
    that exist but could not be read.
    """

    mode: int
    uid: int
    gid: int
    mtime_ns: int
    atime_ns: int
    xattrs: dict[bytes, bytes] = field(default_factory=dict)
    unread: tuple[bytes, ...] = ()


class Pin:
    """An object held by descriptor without being opened, so that its name may be swapped but not the object.

    `target` is what the calls of `os` take: the path of the descriptor in /proc.
    """

    def __init__(self, dir_fd: int, name: bytes) -> None:
        """Pin `name` in the folder `dir_fd`, a link itself (FileNotFoundError when it is not there)."""
        self.fd = os.open(name, os.O_PATH | O_NOFOLLOW | O_CLOEXEC, dir_fd=dir_fd)
        self.target = b"/proc/self/fd/%d" % self.fd

    def __enter__(self) -> Pin:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self.fd)


_PINS = hasattr(os, "O_PATH") and os.path.isdir("/proc/self/fd")


# --- reading ----------------------------------------------------------------------------------------------------


def read_metadata(fd: int) -> Metadata:
    """Metadata of the open object `fd`; an O_PATH descriptor will do."""
    return _read(stat_fd(fd), fd)


def read_metadata_at(dir_fd: int, name: bytes) -> Metadata:
    """Metadata of `name` in the folder `dir_fd`: of a link itself, of fifos, and of files that cannot be read.

    Raises:
        FileNotFoundError: there is no such object.
    """
    if _PINS:
        with Pin(dir_fd, name) as pin:
            return _read(stat_fd(pin.fd), pin.target)
    found = stat_at(dir_fd, name)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return _read(found, None)


def _read(found: Stat, target: int | bytes | None) -> Metadata:
    xattrs: dict[bytes, bytes] = {}
    unread: list[bytes] = []
    if target is not None and hasattr(os, "listxattr"):
        for name in _list_xattrs(target):
            try:
                xattrs[name] = os.getxattr(target, name)
            except OSError as exc:
                if exc.errno == errno.ENODATA:  # removed in between
                    continue
                if exc.errno not in _NO_XATTRS:
                    raise
                unread.append(name)
    return Metadata(
        found.mode, found.uid, found.gid, found.mtime_ns, found.atime_ns, xattrs, tuple(unread)
    )


def _list_xattrs(target: int | bytes) -> list[bytes]:
    """The attributes that a copy must keep, in byte order."""
    try:
        names = os.listxattr(target)
    except OSError as exc:
        if exc.errno == errno.EBADF and isinstance(target, int):  # an O_PATH descriptor
            return _list_xattrs(b"/proc/self/fd/%d" % target)
        if exc.errno in _NO_XATTRS:
            return []
        raise
    return sorted(name for name in map(os.fsencode, names) if _is_kept(name))


def _is_kept(name: bytes) -> bool:
    if name.startswith(b"user.") or name in (ACL_ACCESS, ACL_DEFAULT, b"security.capability"):
        return True
    # Labels and trusted attributes belong to the administrator: others can neither read nor set them all.
    return name.startswith((b"security.", b"trusted.")) and os.geteuid() == 0
