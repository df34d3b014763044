"""What another program may do to a path, and how to tell afterwards that none of it was lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

THEIRS = "the work of somebody else"
Act = Callable[[Path, Path], None]


def edit(path: Path, outside: Path) -> None:
    """Write into the same object."""
    with open(path, "r+") as file:
        file.write(THEIRS)


def replace(path: Path, outside: Path) -> None:
    """Save as editors do: another file, renamed over it."""
    other = path.with_name("editor.tmp")
    other.write_text(THEIRS)
    os.replace(other, path)


def replace_alike(path: Path, outside: Path) -> None:
    """Another file of the same size, mode and time."""
    was = path.stat()
    other = path.with_name("editor.tmp")
    other.write_text(THEIRS[: was.st_size].ljust(was.st_size))
    other.chmod(was.st_mode & 0o7777)
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    os.replace(other, path)


def link_out(path: Path, outside: Path) -> None:
    """A link to a file outside takes its place."""
    path.rename(path.with_name("aside"))
    path.symlink_to(outside / "victim")


def make_folder(path: Path, outside: Path) -> None:
    """A folder with something in it takes its place."""
    path.rename(path.with_name("aside"))
    path.mkdir()
    (path / "mine").write_text(THEIRS)


def move_away(path: Path, outside: Path) -> None:
    """The object gets another name."""
    path.rename(path.with_name("aside"))


def remove(path: Path, outside: Path) -> None:
    """The object goes."""
    path.unlink()


def put_file(path: Path, outside: Path) -> None:
    """A file where there was nothing."""
    path.write_text(THEIRS)


def put_link(path: Path, outside: Path) -> None:
    """A link to a file outside where there was nothing."""
    path.symlink_to(outside / "victim")


def put_dangling(path: Path, outside: Path) -> None:
    """A link to nothing."""
    path.symlink_to("nowhere")


def put_folder(path: Path, outside: Path) -> None:
    """An empty folder."""
    path.mkdir()


ON_SOURCE: dict[str, Act] = {
    act.__name__: act for act in (edit, replace, replace_alike, link_out, make_folder, move_away, remove)
}
ON_TARGET: dict[str, Act] = {act.__name__: act for act in (put_file, put_link, put_dangling, put_folder)}


OURS = "what the task writes"


def contents(*places: Path) -> list[str]:
    """Every content, link text and empty folder below `places`, sorted, whatever its name is.

    Left out is what is the task's own: `OURS`, archives, and what is staged under a temporary name.
    """
    found = []
    for place in places:
        for path in place.rglob("*"):
            if ".deskshell-" in path.name or (path.is_file() and path.read_bytes()[:2] == b"\x1f\x8b"):
                continue
            if path.is_file() and not path.is_symlink() and path.read_text(errors="replace") == OURS:
                continue
            if path.is_symlink():
                found.append(f"-> {os.readlink(path)}")
            elif path.is_file():
                found.append(path.read_text(errors="replace"))
            elif not any(path.iterdir()):
                found.append("(empty folder)")
    return sorted(found)


def lost(before: list[str], after: list[str]) -> list[str]:
    """What of `before` is not in `after`, each as often as it was there."""
    rest = list(after)
    found = []
    for each in before:
        if each in rest:
            rest.remove(each)
        else:
            found.append(each)
    return found


def copy_of(tree: Path, place: Path) -> Path:
    """A copy of a whole tree, links as links."""
    shutil.copytree(tree, place, symlinks=True)
    return place
