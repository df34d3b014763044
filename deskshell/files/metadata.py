"""Mode, owner, times, extended attributes and ACLs of an object: read, set, and what could not be set.

Nothing here follows a link and nothing is opened for reading: an O_PATH descriptor pins the object, and
`/proc/self/fd/N` leads the calls that want a path to exactly that object, whatever its name leads to by then.
Where there is no /proc the calls go by name, without following.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from deskshell.files import syscalls
from deskshell.files.identity import Stat, stat_at, stat_fd
from deskshell.files.names import show
from deskshell.files.opening import O_CLOEXEC, O_NOFOLLOW
from deskshell.slotted import field, slotted

ACL_ACCESS = b"system.posix_acl_access"
ACL_DEFAULT = b"system.posix_acl_default"
_SETUID_SETGID = 0o6000
_ACLS = (ACL_ACCESS, ACL_DEFAULT)
# Not allowed, not known or not possible on this file system, as opposed to a failing disk. ENOSPC and E2BIG: ext4
# has room for one block of attributes.
_CANNOT = frozenset(
    (
        errno.EPERM,
        errno.EACCES,
        errno.ENOTSUP,
        errno.ENOSYS,
        errno.EINVAL,
        errno.ENODATA,
        errno.ENOSPC,
        errno.E2BIG,
        errno.ERANGE,
        errno.EOVERFLOW,
    )
)


@slotted(frozen=True)
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
    """An object held by descriptor, so that its name may be swapped under us but not the object.

    Opened by O_PATH, which needs no permission on the object and wakes no device or fifo. Closed by `with`.
    """

    def __init__(self, dir_fd: int, name: bytes) -> None:
        """Pin `name` in the folder `dir_fd`, a link itself (FileNotFoundError when it is not there)."""
        self.fd = -1
        self.target: bytes | int = name
        self._by_name: dict[str, Any] = {"dir_fd": dir_fd, "follow_symlinks": False}
        self._dir_fd, self._name, self._owned = dir_fd, name, True
        if _PINS:
            self.fd = os.open(name, os.O_PATH | O_NOFOLLOW | O_CLOEXEC, dir_fd=dir_fd)
            self.target = b"/proc/self/fd/%d" % self.fd
            self._by_name = {}

    @classmethod
    def of(cls, fd: int) -> Pin:
        """The object that is open as `fd`, which stays the caller's to close."""
        pin = cls.__new__(cls)
        pin.fd, pin.target, pin._by_name = fd, b"/proc/self/fd/%d" % fd if _PINS else fd, {}
        pin._dir_fd, pin._name, pin._owned = fd, b"", False
        return pin

    def __enter__(self) -> Pin:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.fd >= 0 and self._owned:
            os.close(self.fd)

    def stat(self) -> Stat:
        """One look at the object (FileNotFoundError when there is none)."""
        if self.fd >= 0:
            return stat_fd(self.fd)
        found = stat_at(self._dir_fd, self._name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._name)
        return found

    def chown(self, uid: int, gid: int) -> None:
        """Set the owner; -1 leaves one of the two."""
        os.chown(self.target, uid, gid, **self._by_name)

    def chmod(self, mode: int) -> None:
        """Set the mode bits; OSError with ENOTSUP for a link."""
        if self._by_name and syscalls.LINUX:  # no /proc, and Python has no such call on Linux
            code = syscalls.fchmodat2(self._dir_fd, self._name, mode, syscalls.AT_SYMLINK_NOFOLLOW)
            if code:
                raise OSError(code, os.strerror(code), self._name)
            return
        os.chmod(self.target, mode, **self._by_name)

    def utime(self, atime_ns: int, mtime_ns: int) -> None:
        """Set both times."""
        os.utime(self.target, ns=(atime_ns, mtime_ns), **self._by_name)

    @property
    def has_xattrs(self) -> bool:
        """Whether this system lets us at the object's extended attributes."""
        return hasattr(os, "listxattr") and not self._by_name


_PINS = hasattr(os, "O_PATH") and os.path.isdir("/proc/self/fd")


# --- reading ----------------------------------------------------------------------------------------------------


def read_metadata(fd: int) -> Metadata:
    """Metadata of the open object `fd`; an O_PATH descriptor will do."""
    return _read(Pin.of(fd))


def read_metadata_at(dir_fd: int, name: bytes) -> Metadata:
    """Metadata of `name` in the folder `dir_fd`: of a link itself, of fifos, and of files that cannot be read.

    Raises:
        FileNotFoundError: there is no such object.
    """
    with Pin(dir_fd, name) as pin:
        return _read(pin)


def _read(pin: Pin) -> Metadata:
    found = pin.stat()
    xattrs: dict[bytes, bytes] = {}
    unread: list[bytes] = []
    for name in _list_xattrs(pin):
        try:
            xattrs[name] = os.getxattr(pin.target, name)
        except OSError as exc:
            if exc.errno == errno.ENODATA:  # removed in between
                continue
            if exc.errno not in _CANNOT:
                raise
            unread.append(name)
    return Metadata(found.mode, found.uid, found.gid, found.mtime_ns, found.atime_ns, xattrs, tuple(unread))


def _list_xattrs(pin: Pin) -> list[bytes]:
    """The attributes that a copy must keep, in byte order."""
    if not pin.has_xattrs:
        return []
    try:
        names = os.listxattr(pin.target)
    except OSError as exc:
        if exc.errno in _CANNOT:
            return []
        raise
    return sorted(name for name in map(os.fsencode, names) if _is_kept(name)) if names else []


def _is_kept(name: bytes) -> bool:
    if name.startswith(b"user.") or name in (*_ACLS, b"security.capability"):
        return True
    # Labels and trusted attributes belong to the administrator: others can neither read nor set them all.
    return name.startswith((b"security.", b"trusted.")) and os.geteuid() == 0


# --- setting ----------------------------------------------------------------------------------------------------


def apply_metadata(dir_fd: int, name: bytes, meta: Metadata, *, times: bool = True) -> list[str]:
    """Give `name` in the folder `dir_fd` the metadata `meta`; attributes that `meta` does not have are removed.

    Owner first (it clears setuid bits and capabilities), then attributes and ACLs, then the mode, times last.
    When the owner cannot be kept, setuid and setgid bits are dropped, or they would speak for another user.

    Returns:
        What could not be kept: `owner`, `mode`, `times`, `acl`, `xattr user.name`; empty when all was.

    Raises:
        OSError: there is no such object, or the disk fails (EIO, EROFS, EDQUOT).
    """
    with Pin(dir_fd, name) as pin:
        return _apply(pin, meta, times)


def apply_metadata_fd(fd: int, meta: Metadata, *, times: bool = True) -> list[str]:
    """`apply_metadata` to the open object `fd`."""
    return _apply(Pin.of(fd), meta, times)


def _apply(pin: Pin, meta: Metadata, times: bool) -> list[str]:
    before = pin.stat()
    # A user may give a file to another group of theirs even where the owner cannot be kept.
    if (before.uid, before.gid) != (meta.uid, meta.gid) and not _try(pin.chown, meta.uid, meta.gid):
        _try(pin.chown, -1, meta.gid)
    lost = _apply_xattrs(pin, before, meta)
    if before.kind != "link":  # links have no mode of their own
        now = pin.stat()
        mode = meta.mode
        if (now.uid, now.gid) != (meta.uid, meta.gid) and before.kind != "folder":
            mode &= ~_SETUID_SETGID
        if now.mode != mode:
            _try(pin.chmod, mode)
    if times:
        _try(pin.utime, meta.atime_ns, meta.mtime_ns)
    after = pin.stat()
    kept = [
        ("owner", (after.uid, after.gid) == (meta.uid, meta.gid)),
        ("mode", after.mode == meta.mode or before.kind == "link"),
        ("times", after.mtime_ns == meta.mtime_ns or not times),
    ]
    return [word for word, is_kept in kept if not is_kept] + lost


def _apply_xattrs(pin: Pin, before: Stat, meta: Metadata) -> list[str]:
    lost = [_word(name) for name in meta.unread]
    present = set(_list_xattrs(pin))
    if not present and not meta.xattrs:
        return lost
    if before.kind in ("file", "folder") and not before.mode & 0o200:
        _try(pin.chmod, before.mode | 0o200)  # user attributes ask for write permission; the mode comes after
    for name, value in sorted(meta.xattrs.items()):
        if name in present:
            try:
                if os.getxattr(pin.target, name) == value:
                    continue
            except OSError as exc:
                if exc.errno not in _CANNOT:
                    raise
        if not (pin.has_xattrs and _try(os.setxattr, pin.target, name, value)):
            lost.append(_word(name))
    # Inherited from the folder it was made in (default ACLs, security labels), not from the original.
    inherited = sorted(present - meta.xattrs.keys() - set(meta.unread))
    stuck = [name for name in inherited if not _try(os.removexattr, pin.target, name)]
    lost += [_word(name) for name in stuck if not name.startswith(b"security.")]
    return list(dict.fromkeys(lost))


def _word(name: bytes) -> str:
    return "acl" if name in _ACLS else f"xattr {show(name)}"


def _try(call: Callable[..., object], *args: object) -> bool:
    """Whether `call` worked; False when it is not allowed or not known here. Failures of the disk raise."""
    try:
        call(*args)
    except OSError as exc:
        if exc.errno not in _CANNOT:
            raise
        return False
    return True


def drop_default_acl(fd: int) -> None:
    """Have nothing that is made in the open folder `fd` inherit an ACL."""
    if hasattr(os, "removexattr"):
        _try(os.removexattr, fd, ACL_DEFAULT)


def set_mode_at(dir_fd: int, name: bytes, mode: int) -> None:
    """Set the mode bits (0o7777) of `name` in the folder `dir_fd`.

    Raises:
        OSError: not there, not allowed, or ENOTSUP for a link, which is never followed.
    """
    with Pin(dir_fd, name) as pin:
        pin.chmod(mode)
