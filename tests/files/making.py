"""Things that the file tests make again and again."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from tests.support.trees import make_files


def acl(*entries: tuple[int, int, int]) -> bytes:
    """The attribute value of a POSIX ACL: version 2, then (tag, permissions, id) each; linux/posix_acl_xattr.h."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


OWNER, USER, GROUP, MASK, OTHER, NOBODY_ID = 0x01, 0x02, 0x04, 0x10, 0x20, 0xFFFFFFFF
ONE_MORE_READER = acl(
    (OWNER, 6, NOBODY_ID), (USER, 4, 1234), (GROUP, 4, NOBODY_ID), (MASK, 4, NOBODY_ID), (OTHER, 0, NOBODY_ID)
)


def set_xattr(path: Path, name: bytes, value: bytes) -> None:
    try:
        os.setxattr(path, name, value, follow_symlinks=False)
    except OSError as exc:
        if exc.errno == errno.ENOTSUP:
            pytest.skip(f"this file system keeps no {name.decode()}")
        raise


def make_anything(folder: Path) -> None:
    """`a`: a folder with all that a copy has to keep."""
    make_files(
        folder,
        {
            b"a/file": b"text\n",
            b"a/empty": b"",
            b"a/\xff\n name": b"x",
            b"a/" + b"n" * 255: b"long",
            b"a/-rf": b"dash",
            b"a/sub/deeper/f": b"deep",
            b"a/none/": None,
            b"a/pipe": ("|",),
            b"a/dangling": ("->", b"/nowhere/\xff"),
            b"a/loop": ("->", "loop"),
            b"a/out": ("->", "../.."),
            b"a/first": b"linked",
            b"a/sub/second": ("=", b"a/first"),
            b"a/sub/deeper/third": ("=", b"a/first"),
        },
        mtime=1_500_000_000.25,
    )
    os.link(folder / "a" / "dangling", folder / "a" / "sub" / "dangling", follow_symlinks=False)
    for name, mode in (
        ("file", 0o4755),
        ("empty", 0o400 if os.geteuid() else 0o000),
        ("sub/deeper/f", 0o444),
        ("sub/deeper", 0o2555),
    ):
        os.chmod(folder / "a" / name, mode)
    os.chmod(folder / "a" / "none", 0o500 if os.geteuid() else 0o000)
    os.setxattr(folder / "a" / "sub", b"user.note", b"kept")
    os.utime(folder / "a" / "sub", ns=(7, 1_400_000_000_000_000_007))


def make_deep(top: Path, depth: int) -> None:
    """`d/d/d/…` in `top`, with a file `f` in every hundredth."""
    here = os.open(top, os.O_RDONLY)
    for level in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        if level % 100 == 0:
            os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
    os.close(here)


def content(place: tuple[int, bytes]) -> str:
    """What is in the file that `Places.at` leads to."""
    with open(os.open(place[1], os.O_RDONLY, dir_fd=place[0])) as file:
        return file.read()
