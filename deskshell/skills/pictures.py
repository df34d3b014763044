"""Small pictures with an EXIF date, for fixtures: enough of each format for what reads dates, in few bytes.

Layouts: TIFF 6.0, Exif 2.32 (section 4.5 and 4.6), PNG (third edition, eXIf), ISO/IEC 23008-12 for HEIC.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from datetime import datetime

_DATE_TIME_ORIGINAL = 0x9003
_EXIF_IFD = 0x8769
_DNG_VERSION = 0xC612
_WIDTH, _HEIGHT = 0x0100, 0x0101


def picture(ending: str, taken: datetime | None) -> bytes:
    """A picture of the format that `ending` (without dot) means, with its date when there is one.

    Raises:
        ValueError: no such format.
    """
    make = _FORMATS.get(ending.lower())
    if make is None:
        raise ValueError(f"`{ending}` is no picture format known here: {', '.join(sorted(_FORMATS))}")
    return make(taken)


def _tiff(taken: datetime | None, *, dng: bool = False) -> bytes:
    """A header, one directory with a size, and an EXIF directory with the date."""
    entries = [(_WIDTH, 3, 1, struct.pack("<HH", 1, 0)), (_HEIGHT, 3, 1, struct.pack("<HH", 1, 0))]
    after = 8 + 2 + 12 * (len(entries) + bool(taken) + dng) + 4
    tail = b""
    if taken is not None:
        text = taken.strftime("%Y:%m:%d %H:%M:%S").encode("ascii") + b"\0"
        entries.append((_EXIF_IFD, 4, 1, struct.pack("<I", after)))
        tail = struct.pack("<HHHIII", 1, _DATE_TIME_ORIGINAL, 2, len(text), after + 18, 0) + text
    if dng:
        entries.append((_DNG_VERSION, 1, 4, bytes((1, 4, 0, 0))))
    directory = struct.pack("<H", len(entries))
    for tag, kind, count, value in entries:
        directory += struct.pack("<HHI", tag, kind, count) + value
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", 0) + tail


def _jpeg(taken: datetime | None) -> bytes:
    if taken is None:
        return b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\1\1\0\0\1\0\1\0\0" + b"\xff\xd9"
    content = b"Exif\0\0" + _tiff(taken)
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", 2 + len(content)) + content + b"\xff\xd9"


def _png(taken: datetime | None) -> bytes:
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))]
    if taken is not None:
        chunks.append((b"eXIf", _tiff(taken)))
    chunks += [(b"IDAT", zlib.compress(b"\0\xff")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def _heic(taken: datetime | None) -> bytes:
    def box(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", 8 + len(content)) + name + content

    head = box(b"ftyp", b"heic" + struct.pack(">I", 0) + b"mif1heic")
    exif = b"" if taken is None else b"Exif\0\0" + _tiff(taken)
    items = b"" if taken is None else box(b"infe", struct.pack(">IHH", 2 << 24, 1, 0) + b"Exif" + b"\0")
    count = 0 if taken is None else 1

    def meta(at: int) -> bytes:
        iinf = box(b"iinf", struct.pack(">IH", 0, count) + items)
        extent = struct.pack(">HHHII", 1, 0, 1, at, 4 + len(exif)) if count else b""
        iloc = box(b"iloc", struct.pack(">IBBH", 0, 0x44, 0, count) + extent)
        handler = box(b"hdlr", struct.pack(">II", 0, 0) + b"pict" + bytes(13))
        return box(b"meta", struct.pack(">I", 0) + handler + iinf + iloc)

    at = len(head) + len(meta(0)) + 8
    return head + meta(at) + box(b"mdat", struct.pack(">I", 6) + exif if count else b"")


_FORMATS: dict[str, Callable[[datetime | None], bytes]] = {
    "jpg": _jpeg,
    "jpeg": _jpeg,
    "png": _png,
    "tif": _tiff,
    "tiff": _tiff,
    "nef": _tiff,
    "cr2": _tiff,
    "arw": _tiff,
    "dng": lambda taken: _tiff(taken, dng=True),
    "heic": _heic,
    "heif": _heic,
}
