"""What an object is, and whether two looks at it saw the same one.

`Stat` is one look: a single statx(2) on Linux, `os.stat` elsewhere. `Identity` is the part of it that is
written into records. Both can be compared with each other.

An inode number alone proves nothing: the very next file created on ext4 may get it again. So the birth time
counts too, wherever the file system keeps one. File systems that make up inode numbers as they go (FAT,
FUSE, network) report `ino` and `birth_ns` 0 here, and then size and modification time have to do; callers
that must be sure hash as well.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat as stat_bits
import struct
import threading
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from deskshell.files import syscalls
from deskshell.slotted import NamedTuple

KINDS = ("file", "folder", "link", "fifo", "socket", "char", "block")

_KIND_OF_TYPE = ["file"] * 16  # index: mode >> 12
for _type, _kind in (
    (stat_bits.S_IFREG, "file"),
    (stat_bits.S_IFDIR, "folder"),
    (stat_bits.S_IFLNK, "link"),
    (stat_bits.S_IFIFO, "fifo"),
    (stat_bits.S_IFSOCK, "socket"),
    (stat_bits.S_IFCHR, "char"),
    (stat_bits.S_IFBLK, "block"),
):
    _KIND_OF_TYPE[_type >> 12] = _kind

# First letters are not unique (file, folder, fifo), so records use the letters of `find -type`.
_LETTER_OF_KIND = dict(zip(KINDS, "fdlpscb", strict=True))
_KIND_OF_LETTER = {letter: kind for kind, letter in _LETTER_OF_KIND.items()}

# linux/magic.h: file systems whose inode numbers or birth times do not survive a remount or an eviction.
_UNSTABLE_MAGICS = frozenset(
    (
        0x4D44,  # msdos, vfat
        0x2011BAB0,  # exfat
        0x65735546,  # fuse (sshfs, ntfs-3g, gvfs)
        0x6969,  # nfs
        0xFF534D42,  # cifs
        0xFE534D42,  # smb2
        0x517B,  # smbfs
        0x01021997,  # 9p
        0x00C36400,  # ceph
        0x5346414F,  # afs
        0x6B414653,  # kafs
        0x73757245,  # coda
        0x786F4256,  # vboxsf
    )
)
_UNSTABLE_TYPES_MACOS = frozenset((b"msdos", b"exfat", b"smbfs", b"nfs", b"webdav", b"afpfs"))

# File systems whose f_fsid is made from their own UUID, so that it is the same after a remount.
_PERSISTENT_FSID = frozenset(
    (
        0xEF53,  # ext2, ext3, ext4
        0x9123683E,  # btrfs
        0xF2F52010,  # f2fs
    )
)


class Stat(NamedTuple):
    """One look at an object, links not followed.

    `mode` holds the permission bits only (0o7777); times are nanoseconds since 1970; `birth_ns` and `mnt`
    (the mount's id) are 0 when unknown; `ino` and `birth_ns` are 0 where inode numbers are not stable.
    """

    kind: str
    ino: int
    birth_ns: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    nlink: int
    dev: int
    atime_ns: int
    mnt: int


class Identity(NamedTuple):
    """The part of a `Stat` by which records recognise an object."""

    kind: str
    ino: int
    birth_ns: int
    size: int
    mtime_ns: int
    ctime_ns: int


def identity(stat: Stat | Identity) -> Identity:
    """The recorded part of `stat`."""
    return _new(Identity, stat[:6])


def same_object(a: Stat | Identity, b: Stat | Identity) -> bool:
    """Whether both looks saw one and the same object, possibly changed in between.

    By kind, inode number, and birth time where both know it. Where inode numbers are not stable, by kind,
    size and modification time: then an edited object counts as another one. Device numbers are not
    compared, since they change over a remount: compare objects of one folder or file system only.
    """
    if a.kind != b.kind:
        return False
    if a.ino and b.ino:
        return a.ino == b.ino and (a.birth_ns == b.birth_ns or not a.birth_ns or not b.birth_ns)
    # A folder's size and time change with its entries, but nothing better is left to go by.
    return a.size == b.size and a.mtime_ns == b.mtime_ns


#: What an object is looked up by in a dictionary: inode number and birth time, see `object_key`.
ObjectKey: TypeAlias = tuple[int, int]


def object_key(of: Stat | Identity) -> ObjectKey:
    """What `same_object` goes by, to look objects of one kind up in a dictionary."""
    return (of.ino, of.birth_ns) if of.ino else (of.size, of.mtime_ns)


def same_content(a: Stat | Identity, b: Stat | Identity) -> bool:
    """`same_object`, and neither size nor modification time has changed (of a folder, anything inside may)."""
    return same_object(a, b) and (a.kind == "folder" or (a.size == b.size and a.mtime_ns == b.mtime_ns))


def untouched(a: Stat | Identity, b: Stat | Identity) -> bool:
    """`same_content`, and not so much as mode, owner, links or times were changed (ctime is equal)."""
    return same_content(a, b) and a.ctime_ns == b.ctime_ns


def to_json(value: Stat | Identity) -> list[str | int]:
    """`[letter, ino, birth_ns, size, mtime_ns, ctime_ns]`; the letter is that of `find -type`."""
    return [_LETTER_OF_KIND[value.kind], *value[1:6]]


def to_text(value: Stat | Identity) -> str:
    """`to_json` as JSON text."""
    return f'["{_LETTER_OF_KIND[value[0]]}",{value[1]},{value[2]},{value[3]},{value[4]},{value[5]}]'


_FIELD_TYPES = [str, int, int, int, int, int]


def from_json(fields: list[Any]) -> Identity:
    """The inverse of `to_json`.

    Raises:
        ValueError: not six fields of the right types.
    """
    if list(map(type, fields)) != _FIELD_TYPES:
        raise ValueError(f"not an identity: {fields!r}")
    kind = _KIND_OF_LETTER.get(fields[0])
    if kind is None:
        raise ValueError(f"not a kind of object: {fields[0]!r}")
    return _new(Identity, (kind, *fields[1:]))


# --- one look, by statx(2) -------------------------------------------------------------------------------------

_STATX_WANTED = 0x7FF | 0x800 | 0x1000  # basic fields, birth time, mount id
# struct statx, linux/stat.h. The two device words are read as one number, which is looked up in `_devices`.
_unpack = struct.Struct("=16x I I I H2x Q Q 16x qI4x qI4x qI4x qI4x 8x Q Q").unpack_from
_new = tuple.__new__


class _Buffer(threading.local):
    """A struct statx of each thread's own: other threads run while the kernel fills it."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(256)
        self.address = ctypes.addressof(self.memory)


_buffer = _Buffer()
# Device words of statx → (st_dev, inode numbers are stable). One entry a mounted file system.
_devices: dict[int, tuple[int, bool]] = {}
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def _look(dir_fd: int, name: bytes, flags: int) -> Stat | None:
    """One statx(2); None when there is no such object. `syscalls.statx` must be there."""
    buffer = _buffer
    if syscalls.statx(dir_fd, name, flags, _STATX_WANTED, buffer.address):  # type: ignore[misc]
        code = syscalls.last_errno()
        if code in _ABSENT:
            return None
        if code == errno.ENOSYS:  # kernels before 4.11, some sandboxes
            return _look_by_os(dir_fd, name, flags)
        raise OSError(code, os.strerror(code), name)
    (
        nlink, uid, gid, mode, ino, size, atime, atime_n, birth, birth_n, ctime, ctime_n, mtime, mtime_n, device, mnt,
    ) = _unpack(buffer.memory)  # fmt: skip
    known = _devices.get(device)
    if known is None:
        known = _devices[device] = _learn_device(device, dir_fd, name, flags)
    dev, stable = known
    return _new(
        Stat,
        (
            _KIND_OF_TYPE[mode >> 12],
            ino if stable else 0,
            birth * 1_000_000_000 + birth_n if stable else 0,
            size,
            mtime * 1_000_000_000 + mtime_n,
            ctime * 1_000_000_000 + ctime_n,
            mode & 0o7777,
            uid,
            gid,
            nlink,
            dev,
            atime * 1_000_000_000 + atime_n,
            mnt,
        ),
    )


def _learn_device(device: int, dir_fd: int, name: bytes, flags: int) -> tuple[int, bool]:
    major, minor = struct.unpack("=II", struct.pack("=Q", device))
    return os.makedev(major, minor), _inodes_stable(dir_fd, name, flags)


def _inodes_stable(dir_fd: int, name: bytes, flags: int) -> bool:
    if flags & syscalls.AT_EMPTY_PATH:
        magic, _, type_name = syscalls.fstatfs(dir_fd)
    else:
        try:  # O_PATH: nothing is opened, no device or fifo is woken
            fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=_python_fd(dir_fd))
        except OSError:
            return True  # gone in between; whoever uses the answer looks again
        try:
            magic, _, type_name = syscalls.fstatfs(fd)
        finally:
            os.close(fd)
    return magic not in _UNSTABLE_MAGICS and type_name not in _UNSTABLE_TYPES_MACOS


def _python_fd(dir_fd: int) -> int | None:
    return None if dir_fd == syscalls.AT_FDCWD else dir_fd


# --- one look, by os.stat ---------------------------------------------------------------------------------------


def _look_by_os(dir_fd: int, name: bytes, flags: int) -> Stat | None:
    try:
        if flags & syscalls.AT_EMPTY_PATH:
            raw = os.fstat(dir_fd)
        else:
            raw = os.stat(name, dir_fd=_python_fd(dir_fd), follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return from_os(raw)


def from_os(raw: os.stat_result) -> Stat:
    """A `Stat` from what Python's own `os.stat` gives: no mount id, birth time only on macOS and Windows."""
    # Python gives macOS's birth time as a float: the same each time, though not to the nanosecond.
    birth_ns = getattr(raw, "st_birthtime_ns", None) or int(getattr(raw, "st_birthtime", 0) * 1_000_000_000)
    if syscalls.WINDOWS and not birth_ns:
        birth_ns = raw.st_ctime_ns  # before Python 3.12 Windows reports the creation time here
    return Stat(
        _KIND_OF_TYPE[raw.st_mode >> 12],
        raw.st_ino,
        birth_ns,
        raw.st_size,
        raw.st_mtime_ns,
        raw.st_ctime_ns,
        raw.st_mode & 0o7777,
        raw.st_uid,
        raw.st_gid,
        raw.st_nlink,
        raw.st_dev,
        raw.st_atime_ns,
        0,
    )


# As lstat(2): looking must not mount anything either.
_THE_NAME_ITSELF = syscalls.AT_SYMLINK_NOFOLLOW | syscalls.AT_NO_AUTOMOUNT
_one_look = _look if syscalls.statx is not None else _look_by_os


def stat_at(dir_fd: int, name: bytes) -> Stat | None:
    """Look at `name` in the folder `dir_fd`, a link itself and not its target. None when it is not there.

    Raises:
        OSError: anything but "no such file" (EACCES, EIO, ENAMETOOLONG, …).
    """
    return _one_look(dir_fd, name, _THE_NAME_ITSELF)


def is_still(dir_fd: int, name: bytes, known: Stat | Identity) -> bool:
    """True when `known` stands at `name` just as it was; False when that takes `stat_at` to tell.

    Python's own call is twice as fast, and lacks the birth time. With kind, inode number, size, modification and
    change time of `known` it is the very object: its number can be another's only once it is gone, and whatever
    was made after that has a later change time, which no program can set.
    """
    try:
        return _is(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), known)
    except OSError:
        return False


def stat_again(dir_fd: int, name: bytes, known: Stat | Identity) -> Stat | None:
    """`stat_at` where most likely `known` still stands just as it was: half the price then (see `is_still`)."""
    try:
        raw = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except OSError:
        return stat_at(dir_fd, name)
    if not _is(raw, known):
        return stat_at(dir_fd, name)
    mode, _, dev, nlink, uid, gid, *_ = raw
    return _new(Stat, (*known[:6], mode & 0o7777, uid, gid, nlink, dev, raw.st_atime_ns, 0))


_of_raw = attrgetter("st_ctime_ns", "st_ino", "st_mtime_ns", "st_size")
_of_known = itemgetter(5, 1, 4, 3)  # the same of an identity; its inode number is 0 where they are not stable


def _is(raw: os.stat_result, known: Stat | Identity) -> bool:
    return _of_raw(raw) == _of_known(known) and _KIND_OF_TYPE[raw.st_mode >> 12] == known[0]


def stat_path(path: bytes) -> Stat | None:
    """`stat_at` by path: links are followed on the way, but the last name is never."""
    return _one_look(syscalls.AT_FDCWD, path, _THE_NAME_ITSELF)


def stat_fd(fd: int) -> Stat:
    """Look at the open object `fd`, an O_PATH descriptor too."""
    found = _one_look(fd, b"", syscalls.AT_EMPTY_PATH)
    if found is None:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    return found


# --- file systems -----------------------------------------------------------------------------------------------

_fs_ids: dict[int, str] = {}
_magics: dict[int, int] = {}


def fs_magic(fd: int) -> int:
    """`f_type` of the file system that `fd` lies on (linux/magic.h); 0 when the system cannot say."""
    dev = stat_fd(fd).dev
    magic = _magics.get(dev)
    if magic is None:
        magic = _magics[dev] = syscalls.fstatfs(fd)[0]
    return magic


def fs_id(fd: int) -> str:
    """An id of the file system that `fd` lies on which is the same after a remount or a reboot.

    `"ef53:1f2e…"` where the file system derives its id from its UUID (ext4, btrfs, f2fs), elsewhere the
    kind alone (`"58465342"` for xfs, whose own id is only the device number; `"apfs"` on macOS).
    """
    dev = stat_fd(fd).dev
    known = _fs_ids.get(dev)
    if known is None:
        magic, fsid, type_name = syscalls.fstatfs(fd)
        known = type_name.decode("ascii", "replace") or f"{magic:x}"
        if magic in _PERSISTENT_FSID and any(fsid):
            known += ":" + fsid.hex()
        _fs_ids[dev] = known
    return known
