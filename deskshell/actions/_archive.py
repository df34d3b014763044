"""Archives as streams: packing members into bytes, and reading what an archive really holds.

Both sides speak in `Held`, so that what was read back can be compared with what went in. Output
depends on the members alone: no names of users or of folders above, no time of packing.
"""

from __future__ import annotations

import hashlib
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Protocol, cast

from deskshell.errors import StepFailed
from deskshell.files import names
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    import tarfile
    import zipfile

FORMATS = ("gzip", "zip", "tar.gz")
_LEVEL = 6  # of deflate, as gzip(1)
_CHUNK = 1 << 20
_BLOCK = 512  # of tar
_TYPE_BITS = {"file": stat.S_IFREG, "folder": stat.S_IFDIR, "link": stat.S_IFLNK}
_TIMES = struct.Struct("<HHBl")  # zip's extended timestamp (0x5455): id, length, flags, mtime in seconds
_ZIP64_FROM = 1 << 30  # a stream cannot go back to enlarge a header


class Held(NamedTuple):
    """What an archive holds of one object.

    `mtime` is in nanoseconds for tar.gz, cut to whole seconds for zip and gzip; `digest` is the
    sha256 of a file's content or a link's text, "" for a folder.
    """

    name: bytes
    kind: str
    mode: int
    mtime_ns: int
    digest: str


class Member(NamedTuple):
    """One object to pack: a file with its content, a link with its text, or a folder."""

    name: bytes
    kind: str
    mode: int
    size: int
    mtime_ns: int
    link: bytes
    content: Callable[[], Iterator[bytes]]


def pack(how: str, members: Iterable[Member], held: list[Held]) -> Iterator[bytes]:
    """The bytes of an archive of format `how`; what went into it is appended to `held`.

    Raises StepFailed for what the format cannot hold.
    """
    return {"gzip": _pack_gzip, "zip": _pack_zip, "tar.gz": _pack_tar}[how](members, held)


def unpack(how: str, file: IO[bytes]) -> Iterator[Held]:
    """Read the archive `file` to its end, checksums included, and say what it holds.

    Raises StepFailed when it is damaged.
    """
    import tarfile
    import zipfile
    import zlib

    try:
        yield from {"gzip": _unpack_gzip, "zip": _unpack_zip, "tar.gz": _unpack_tar}[how](file)
    except (EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as exc:
        raise StepFailed("the archive is damaged when read back") from exc


class _Sink:
    """A file to write to, whose content is taken out bit by bit."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _read(member: Member) -> Iterator[tuple[bytes, str]]:
    """Pieces of the content, each with the digest of all so far; refuses another length than announced."""
    total, length = hashlib.sha256(), 0
    for chunk in member.content():
        for start in range(0, len(chunk), _CHUNK):
            piece = chunk[start : start + _CHUNK]
            total.update(piece)
            length += len(piece)
            yield piece, ""
    if length != member.size:
        raise StepFailed(f"`{names.show(member.name)}` changed while it was read")
    yield b"", total.hexdigest()


def _digest(pieces: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _pieces(file: _Readable) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _whole_s(mtime_ns: int, low: int, high: int) -> int:
    return min(max(mtime_ns // 1_000_000_000, low), high)


# --- gzip: one file -----------------------------------------------------------------------------------------------


def _pack_gzip(members: Iterable[Member], held: list[Held]) -> Iterator[bytes]:
    import gzip

    (member,) = members
    sink = _Sink()
    seconds = _whole_s(member.mtime_ns, 0, 0xFFFFFFFF)
    with gzip.GzipFile("", "wb", _LEVEL, sink, seconds) as out:
        for piece, digest in _read(member):
            out.write(piece)
            yield sink.take()
            if digest:
                held.append(Held(b"", "file", 0, seconds * 1_000_000_000, digest))
    yield sink.take()


def _unpack_gzip(file: IO[bytes]) -> Iterator[Held]:
    import gzip

    with gzip.GzipFile(fileobj=file, mode="rb") as found:
        digest = _digest(_pieces(found))
        yield Held(b"", "file", 0, (found.mtime or 0) * 1_000_000_000, digest)


# --- zip ----------------------------------------------------------------------------------------------------------


def _pack_zip(members: Iterable[Member], held: list[Held]) -> Iterator[bytes]:
    import zipfile

    sink = _Sink()
    file = cast("IO[bytes]", sink)  # writing is all that is asked of it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as out:
        for member in members:
            info, seconds = _zip_info(member)
            digest = ""
            if member.kind == "file":
                with out.open(info, "w", force_zip64=member.size >= _ZIP64_FROM) as entry:
                    for piece, so_far in _read(member):
                        digest = so_far
                        entry.write(piece)
                        yield sink.take()
            else:
                out.writestr(info, member.link)
                digest = _digest([member.link]) if member.kind == "link" else ""
            held.append(Held(member.name, member.kind, member.mode, seconds * 1_000_000_000, digest))
            yield sink.take()
    yield sink.take()


def _zip_info(member: Member) -> tuple[zipfile.ZipInfo, int]:
    import zipfile

    try:
        name = member.name.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise StepFailed(
            f"`{names.show(member.name)}` is not UTF-8, and zip holds no other names",
            hint='use format = "tar.gz"',
        ) from exc
    seconds = _whole_s(member.mtime_ns, -(1 << 31), (1 << 31) - 1)
    moment = time.gmtime(min(max(seconds, 315532800), 4354819198))[:6]  # 1980 to 2107, all that DOS knows
    info = zipfile.ZipInfo(name + "/" if member.kind == "folder" else name, moment)
    info.create_system = 3  # Unix: the upper half of the attributes is the mode
    info.external_attr = (_TYPE_BITS[member.kind] | member.mode) << 16
    if member.kind == "folder":
        info.external_attr |= 0x10
    else:
        info.compress_type = zipfile.ZIP_DEFLATED
    info.extra = _TIMES.pack(0x5455, 5, 1, seconds)
    return info, seconds


def _unpack_zip(file: IO[bytes]) -> Iterator[Held]:
    import zipfile

    kinds = {bits: kind for kind, bits in _TYPE_BITS.items()}
    with zipfile.ZipFile(file) as found:
        for info in found.infolist():
            bits = info.external_attr >> 16
            kind = kinds[stat.S_IFMT(bits)]
            with found.open(info) as entry:
                digest = _digest(_pieces(entry))
            seconds = _TIMES.unpack_from(info.extra)[3]
            name = info.filename.rstrip("/").encode()
            yield Held(
                name, kind, stat.S_IMODE(bits), seconds * 1_000_000_000, "" if kind == "folder" else digest
            )


# --- tar.gz -------------------------------------------------------------------------------------------------------


def _pack_tar(members: Iterable[Member], held: list[Held]) -> Iterator[bytes]:
    import gzip

    sink = _Sink()
    with gzip.GzipFile("", "wb", _LEVEL, sink, 0) as out:
        written = 0
        for member in members:
            header = _tar_header(member)
            out.write(header)
            digest = _digest([member.link]) if member.kind == "link" else ""
            written += len(header)
            if member.kind == "file":
                for piece, so_far in _read(member):
                    digest = so_far
                    out.write(piece)
                    yield sink.take()
                padding = -member.size % _BLOCK
                out.write(bytes(padding))
                written += member.size + padding
            held.append(Held(member.name, member.kind, member.mode, member.mtime_ns, digest))
        out.write(bytes(2 * _BLOCK + -(written + 2 * _BLOCK) % (20 * _BLOCK)))
    yield sink.take()


def _tar_header(member: Member) -> bytes:
    import tarfile

    info = tarfile.TarInfo(member.name.decode("utf-8", "surrogateescape"))
    info.type = {"file": tarfile.REGTYPE, "folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}[member.kind]
    info.mode = member.mode
    info.size = member.size if member.kind == "file" else 0
    info.linkname = member.link.decode("utf-8", "surrogateescape")
    seconds, rest = divmod(member.mtime_ns, 1_000_000_000)
    info.mtime = seconds
    if rest or seconds < 0:
        info.pax_headers = {"mtime": _decimal(member.mtime_ns)}  # a float would lose the nanoseconds
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _decimal(ns: int) -> str:
    whole, rest = divmod(abs(ns), 1_000_000_000)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:09}"


def _unpack_tar(file: IO[bytes]) -> Iterator[Held]:
    import gzip
    import tarfile

    kinds = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link"}
    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
        with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as found:
            for info in found:
                digest = ""
                content = found.extractfile(info) if info.type == tarfile.REGTYPE else None
                if content is not None:
                    digest = _digest(_pieces(content))
                elif info.type == tarfile.SYMTYPE:
                    digest = _digest([info.linkname.encode("utf-8", "surrogateescape")])
                name = info.name.encode("utf-8", "surrogateescape")
                yield Held(name, kinds[info.type], info.mode, _mtime_ns(info), digest)
        for _ in _pieces(stream):  # to the end: only there is the checksum
            pass


def _mtime_ns(info: tarfile.TarInfo) -> int:
    text = info.pax_headers.get("mtime")
    if text is None:
        return int(info.mtime) * 1_000_000_000
    whole, _, rest = text.lstrip("-").partition(".")
    ns = int(whole) * 1_000_000_000 + int(rest.ljust(9, "0")[:9])
    return -ns if text.startswith("-") else ns
