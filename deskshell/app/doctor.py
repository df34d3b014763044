"""`deskshell doctor`: what is well, what is not, and what to do about it. Reads only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

from deskshell.app.desktop import Desktop
from deskshell.errors import DeskshellError
from deskshell.files import landlock, moving
from deskshell.files.identity import fs_id, stat_path
from deskshell.files.names import show
from deskshell.kernel import history
from deskshell.slotted import slotted
from deskshell.store.kept import Kept

_LOW_BYTES = 256 << 20
_LOW_SHARE = 0.02


@slotted(frozen=True)
class Check:
    """One finding. `ok` is True, None for a warning, False for a failure."""

    name: str
    ok: bool | None
    text: str
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object in `checks`."""
        word = {True: "ok", None: "warning", False: "failed"}[self.ok]
        return {"name": self.name, "status": word, "text": self.text, "hint": self.hint}


def examine(desktop: Desktop, now_s: float) -> list[Check]:
    """All checks, in the order in which they build on each other."""
    found = list(_folder(desktop))
    if found[-1].ok is False or not desktop.folder.exists():
        return [*found, *_space(desktop)]
    return [
        *found,
        *_file_system(desktop),
        _wall(desktop),
        *_space(desktop),
        *_lock(desktop),
        *_journal(desktop),
        *_undo_data(desktop, now_s),
    ]


def _folder(desktop: Desktop) -> Iterator[Check]:
    path = desktop.folder.path
    try:
        desktop.folder.check()
    except DeskshellError as exc:
        yield Check("state folder", False, exc.message, exc.hint)
        return
    if not desktop.folder.exists():
        yield Check("state folder", True, f"`{path}` is not there yet; the first task makes it")
        return
    mode = os.stat(path).st_mode & 0o777
    if mode & 0o077:
        yield Check(
            "state folder", None, f"`{path}` can be read by others (mode {mode:04o})", f"`chmod 700 {path}`"
        )
    elif not os.access(path, os.W_OK | os.X_OK):
        yield Check("state folder", False, f"`{path}` cannot be written", f"`chmod u+rwx {path}`")
    else:
        yield Check("state folder", True, f"`{path}` is yours alone (mode {mode:04o})")


def _file_system(desktop: Desktop) -> Iterator[Check]:
    fd = os.open(desktop.folder.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = stat_path(os.fsencode(desktop.folder.path))
        stable = found is not None and found.ino != 0
        exchange = moving.can_exchange(fd)
        text = (
            f"{fs_id(fd)}: exchange {'yes' if exchange else 'no'}, stable inodes {'yes' if stable else 'no'}"
        )
        ok = True if exchange and stable else None
        hint = None if ok else "files are compared by size, time and content here, which is slower"
        yield Check("file system", ok, text, hint)
        home = os.path.expanduser("~")
        if os.path.isdir(home):
            home_fd = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
            try:
                same = moving.renameable(home_fd, fd)
            finally:
                os.close(home_fd)
            where = show(os.fsencode(home))
            if same:
                yield Check("holding", True, f"what is deleted in `{where}` is held by rename, at no cost")
            else:
                yield Check(
                    "holding",
                    None,
                    f"`{where}` is another file system: what is deleted there is copied first",
                    "set DESKSHELL_HOME to a folder on the file system you work on",
                )
    finally:
        os.close(fd)


def _wall(desktop: Desktop) -> Check:
    """Not having it is no fault: paths are guarded without it, too."""
    if not desktop.settings.landlock:
        return Check(
            "landlock", None, "switched off in the config file: a task's folders are guarded once, not twice"
        )
    version = landlock.abi()
    if version:
        return Check(
            "landlock",
            True,
            f"version {version}: a task can write in its own folders and the state folder only",
        )
    return Check("landlock", True, "not on this system: a task's folders are guarded once, not twice")


def _space(desktop: Desktop) -> Iterator[Check]:
    path = desktop.folder.path
    while not path.exists():
        path = path.parent
    usage = shutil.disk_usage(path)
    low = usage.free < max(_LOW_BYTES, usage.total * _LOW_SHARE)
    text = f"{usage.free >> 20:,} MiB free of {usage.total >> 20:,} MiB"
    yield Check(
        "free space", None if low else True, text, "free some, or run `deskshell gc`" if low else None
    )


def _lock(desktop: Desktop) -> Iterator[Check]:
    holder = desktop.holder()
    if holder is None:
        yield Check("lock", True, "free")
    else:
        yield Check(
            "lock", None, f"held by {holder}", "wait until it is done; the lock goes with the process"
        )


def _journal(desktop: Desktop) -> Iterator[Check]:
    try:
        journal = desktop.reading().journal
        report = journal.verify()
        if not report.ok:
            yield Check(
                "journal",
                False,
                report.damage[0],
                "keep a copy of the state folder; nothing is written to it",
            )
            return
        yield Check(
            "journal", True, f"{report.lines:,} lines in {report.segments} files, each as it was written"
        )
        head = history.find_open(journal)
    except DeskshellError as exc:
        yield Check("journal", False, exc.message, exc.hint)
        return
    if head is not None and desktop.holder() is None:
        yield Check(
            "recovery",
            None,
            f"{head.task_id} was interrupted",
            "run `deskshell recover`, or any other command that writes",
        )


def _undo_data(desktop: Desktop, now_s: float) -> Iterator[Check]:
    sizes = Kept(desktop.folder).sizes()
    keep_days = desktop.settings.keep_s / 86400
    oldest = min(
        (int(task.rpartition("-")[2]) for task in sizes if task.rpartition("-")[2].isdecimal()), default=0
    )
    age = f", oldest {max(0.0, now_s - oldest / 1000) / 86400:.0f} days" if oldest else ""
    total = sum(sizes.values())
    yield Check(
        "undo data", True, f"{total >> 10:,} KiB for {len(sizes)} tasks{age}; kept {keep_days:.0f} days"
    )
