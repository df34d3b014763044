"""Deterministic benchmark input trees (standard library only).

  make_tree.py DIR --files 10000 --bytes 40960000 --seed 1 [--flat] [--uniform] [--kind mixed]
  make_tree.py DIR --mutate 0.01 --seed 2      change a share of the files of an existing tree
  make_tree.py DIR --digest [--no-mtime]       one digest of the tree: names, types, modes, sizes, mtimes, contents
  make_tree.py FILE --journal 100000 --seed 1  a JSONL journal of that many ~400-byte entries

The same arguments give the same names, sizes, dates and bytes on every machine with Python 3.9 or newer.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import random
import stat
import struct
import sys
from typing import NamedTuple

EXTENSIONS = [
    "jpg",
    "png",
    "pdf",
    "txt",
    "log",
    "zip",
    "tar.gz",
    "mp3",
    "mp4",
    "docx",
    "xlsx",
    "csv",
    "json",
    "html",
    "py",
    "iso",
    "deb",
    "epub",
    "svg",
    "JPG",
]
WORDS = [
    "invoice",
    "report",
    "holiday",
    "scan",
    "setup",
    "backup",
    "notes",
    "draft",
    "final",
    "photo",
    "export",
    "screenshot",
    "statement",
    "letter",
    "budget",
    "meeting",
    "song",
    "clip",
    "archive",
    "server",
]
ODD = [
    "caf\u00e9",
    "stra\u00dfe",
    "\u65e5\u672c\u8a9e",
    "\U0001f4f7 photo",
    "two  spaces",
    "-leading-dash",
    "semi;colon",
    "quote'd",
    'double"quote',
    "per%cent",
    "$dollar",
    "back\\slash",
    "a" * 120,
    "tab\there",
    "new\nline",
    ".hidden",
    "e\u0301 decomposed",
    "trailing ",
    "[glob]*?",
    "#hash",
]
EPOCH = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
TEN_YEARS = 10 * 365 * 86400


class Shape(NamedTuple):
    """What a tree is like: `flat` is one folder, `uniform` one size; `odd` the share of names with odd characters."""

    flat: bool = False
    uniform: bool = False
    kind: str = "mixed"
    odd: float = 0.05


def name_for(rng: random.Random, i: int, odd_share: float) -> str:
    """A file name as a downloads folder has them; number `i` makes it unique."""
    word = rng.choice(ODD) if rng.random() < odd_share else rng.choice(WORDS)
    style = rng.randrange(4)
    if style == 0:
        stem = f"{word}_{i:06d}"
    elif style == 1:
        stem = f"{word} ({i})"
    elif style == 2:
        stem = f"{word}-{rng.randrange(2015, 2025)}-{rng.randrange(1, 13):02d}-{i}"
    else:
        stem = f"{word.title() if word.isascii() else word}{i}"
    ext = EXTENSIONS[i % len(EXTENSIONS)]  # every extension equally often
    return f"{stem}.{ext}"


def sizes_for(rng: random.Random, files: int, total: int, uniform: bool) -> list[int]:
    """Sizes of `files` files, `total` bytes in all."""
    if files == 0:
        return []
    if uniform:
        base = total // files
        out = [base] * files
        out[-1] += total - base * files
        return out
    # log-normal: many small files, a few large ones, as in real download folders; a few files are empty
    weights = [0.0 if rng.random() < 0.01 else rng.lognormvariate(0.0, 2.0) for _ in range(files)]
    scale = total / (sum(weights) or 1.0)
    out = [int(w * scale) for w in weights]
    out[max(range(files), key=out.__getitem__)] += total - sum(out)
    return out


def exif_jpeg(when: dt.datetime) -> bytes:
    """A smallest JPEG with an Exif DateTimeOriginal."""
    stamp = when.strftime("%Y:%m:%d %H:%M:%S").encode() + b"\0"
    ifd0 = struct.pack("<H", 1) + struct.pack("<HHII", 0x8769, 4, 1, 26) + struct.pack("<I", 0)
    sub = struct.pack("<H", 1) + struct.pack("<HHII", 0x9003, 2, len(stamp), 44) + struct.pack("<I", 0)
    tiff = b"II*\0" + struct.pack("<I", 8) + ifd0 + sub + stamp
    app1 = b"Exif\0\0" + tiff
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(app1) + 2) + app1 + b"\xff\xd9"


def body(rng: random.Random, size: int, ext: str, when: dt.datetime) -> bytes:
    """`size` bytes that fit the ending `ext`."""
    if size <= 0:
        return b""
    if ext in ("txt", "log", "csv", "json", "html", "py", "svg"):
        line = f"{when.isoformat()} {rng.choice(WORDS)} {rng.getrandbits(64):016x} {rng.choice(WORDS)}\n".encode()
        block = b"".join(
            b"%08x " % rng.getrandbits(32) + line for _ in range(16)
        )  # compressible, not constant
        out = (block * (size // len(block) + 1))[:size]
    else:
        head = exif_jpeg(when) if ext.lower() == "jpg" else b""
        out = head + rng.randbytes(max(0, size - len(head)))
        out = out[:size] if size >= len(head) else rng.randbytes(size)
    return out


def make(root: str, files: int, total: int, seed: int, shape: Shape) -> None:
    """Make a tree of `files` files with `total` bytes; the same arguments give the same tree everywhere."""
    flat, uniform, kind, odd = shape
    rng = random.Random(seed)
    os.makedirs(root, exist_ok=True)
    dirs = [root]
    if not flat:
        for d in range(max(1, files // 50)):
            parent = (
                rng.choice(dirs) if len(dirs) < 20 else rng.choice(dirs[-20:] if rng.random() < 0.3 else dirs)
            )
            if parent.count(os.sep) - root.count(os.sep) >= 8:
                parent = root
            path = os.path.join(parent, f"{rng.choice(WORDS)}{d}")
            os.mkdir(path)
            dirs.append(path)
    sizes = sizes_for(rng, files, total, uniform)
    for i, size in enumerate(sizes):
        name = name_for(rng, i, odd)
        if kind == "photos":
            name = os.path.splitext(name)[0] + ".jpg"
        elif kind == "logs":
            name = os.path.splitext(name)[0] + f".log.{i % 9}"
        ext = name.rsplit(".", 1)[-1]
        when = EPOCH + dt.timedelta(seconds=rng.randrange(TEN_YEARS))
        path = os.path.join(rng.choice(dirs), name)
        with open(path, "wb") as f:
            f.write(body(rng, size, ext, when))
        ns = int(when.timestamp()) * 10**9 + rng.randrange(10**9)
        os.chmod(path, rng.choice([0o644, 0o644, 0o644, 0o600, 0o755]))
        os.utime(path, ns=(ns, ns))
    for i, folder in enumerate(reversed(dirs)):
        ns = (int(EPOCH.timestamp()) + i) * 10**9
        os.utime(folder, ns=(ns, ns))


def walk(root: str) -> list[tuple[str, os.stat_result]]:
    """Everything below `root`, sorted by path."""
    out, todo = [], [root]
    while todo:
        d = todo.pop()
        with os.scandir(d) as it:
            for e in it:
                st = e.stat(follow_symlinks=False)
                out.append((os.path.relpath(e.path, root), st))
                if stat.S_ISDIR(st.st_mode):
                    todo.append(e.path)
    out.sort()
    return out


def mutate(root: str, share: float, seed: int) -> int:
    """Change a share of the files; returns how many."""
    rng = random.Random(seed)
    files = [p for p, st in walk(root) if stat.S_ISREG(st.st_mode)]
    picked = rng.sample(files, max(1, round(len(files) * share)))
    for p in picked:
        path = os.path.join(root, p)
        size = os.path.getsize(path)
        with open(path, "r+b") as f:
            f.seek(rng.randrange(size) if size else 0)
            f.write(rng.randbytes(64))
            if rng.random() < 0.5:
                f.seek(0, 2)
                f.write(rng.randbytes(128))
    return len(picked)


def digest(root: str, mtime: bool) -> str:
    """One digest of the tree."""
    h = hashlib.sha256()
    for p, st in walk(root):
        kind = stat.S_IFMT(st.st_mode)
        row: list[object] = [p, kind, stat.S_IMODE(st.st_mode)]
        if kind == stat.S_IFREG:
            with open(os.path.join(root, p), "rb") as f:
                row += [
                    st.st_size,
                    hashlib.file_digest(f, "sha256").hexdigest()
                    if hasattr(hashlib, "file_digest")
                    else hashlib.sha256(f.read()).hexdigest(),
                ]
            if mtime:
                row.append(st.st_mtime_ns)
        elif kind == stat.S_IFLNK:
            row.append(os.readlink(os.path.join(root, p)))
        h.update(repr(row).encode("utf-8", "surrogateescape"))
    return h.hexdigest()


def journal(path: str, entries: int, seed: int) -> None:
    """Write `entries` plain lines of about 400 bytes."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for i in range(entries):
            ext = EXTENSIONS[i % len(EXTENSIONS)]
            name = f"{rng.choice(WORDS)}_{i:07d}.{ext}"
            entry: dict[str, object] = {
                "v": 1,
                "seq": i,
                "run": f"{i // 1000:016x}",
                "ts": 1420070400.0 + i * 0.25,
                "op": "move",
                "src": f"/home/user/Downloads/{name}",
                "dst": f"/home/user/Downloads/{ext}/{name}",
                "size": rng.randrange(1 << 24),
                "mode": 33188,
                "mtime_ns": 1420070400000000000 + rng.randrange(10**17),
                "sha256": f"{rng.getrandbits(256):064x}",
                "undo": {"op": "move", "src": f"{ext}/{name}", "dst": name},
                "prev": f"{rng.getrandbits(128):032x}",
            }
            f.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n")


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("target", help="the folder to make, change or digest (a file with --journal)")
    ap.add_argument("--files", type=int, default=1000)
    ap.add_argument("--bytes", type=int, default=4096000, help="total size of all files")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--flat", action="store_true", help="all files in one folder")
    ap.add_argument("--uniform", action="store_true", help="all files of one size (default: log-normal)")
    ap.add_argument("--kind", choices=["mixed", "photos", "logs"], default="mixed")
    ap.add_argument("--odd", type=float, default=0.05, help="share of names with odd characters")
    ap.add_argument("--mutate", type=float, metavar="SHARE")
    ap.add_argument("--digest", action="store_true")
    ap.add_argument("--no-mtime", action="store_true")
    ap.add_argument("--journal", type=int, metavar="ENTRIES")
    a = ap.parse_args(argv)
    if a.digest:
        print(digest(a.target, not a.no_mtime))
    elif a.mutate is not None:
        print(mutate(a.target, a.mutate, a.seed))
    elif a.journal is not None:
        journal(a.target, a.journal, a.seed)
    else:
        if os.path.exists(a.target) and os.listdir(a.target):
            ap.error("the target folder is not empty")
        make(a.target, a.files, a.bytes, a.seed, Shape(a.flat, a.uniform, a.kind, a.odd))
    return 0


if __name__ == "__main__":
    sys.exit(main())
