"""The ground that effects act on: the user's folders within the granted scopes, and holding.

Paths are bytes. An absolute one lies in the user's tree and is opened through `Places`, inside the
task's roots only (I10). `held:<task>/<name>` and `kept:<task>/<name>` lie in the state folder, so a
record stays true when that folder is moved as a whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from deskshell.errors import Conflict, DeskshellError, ScopeError, StepFailed
from deskshell.files import moving, names
from deskshell.files.identity import (
    Identity,
    Stat,
    fs_id,
    identity,
    is_still,
    same_object,
    stat_again,
    stat_at,
    stat_fd,
)
from deskshell.files.names import put_path
from deskshell.files.opening import open_beneath
from deskshell.files.scope import Places
from deskshell.kernel.contents import Contents
from deskshell.kernel.folder_time import FolderTime
from deskshell.kernel.heirs import Heirs
from deskshell.kernel.unsynced import Unsynced

if TYPE_CHECKING:
    from deskshell.files import copying

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MISSING = (errno.ENOENT, errno.ENOTDIR)


class Ground(Contents):
    """Named objects of one task: looking, renaming, comparing, and knowing what to sync.

    `held` and `kept` are the state folder's two stores; `key` gives the key that marks content which
    came from a secret. It owns `places`.
    """

    def __init__(
        self,
        places: Places,
        *,
        held: bytes,
        kept: bytes,
        key: Callable[[], bytes],
    ) -> None:
        self.places = places
        self.wall = 0  # the version of Landlock that holds while this acts, 0 for none (`desk.Desk.walled`)
        self._stores = {b"held": held, b"kept": kept}
        super().__init__(key)
        self._store_fds: dict[bytes, int] = {}
        self._renameable: dict[tuple[bytes, bytes], bool] = {}
        self._unsynced = Unsynced(self.at, self.folder_fd)
        self.heirs = Heirs()
        self.lost: list[str] = []  # what copies that came back could not be given of their originals

    # names

    def at(self, path: bytes, *, looking: bool = False) -> tuple[int, bytes]:
        """Open folder and last name for `path`; for ``folder/.`` the folder itself. `looking`: see `Places.at`.

        Raises ScopeError, Conflict, FileNotFoundError.
        """
        if path[:1] == b"/":
            if path.endswith(b"/."):
                return self.places.folder_fd(path[:-2] or b"/"), b"."
            return self.places.at(path, looking=looking)
        return self._in_store(path)

    def _in_store(self, path: bytes, *, make: bool = False) -> tuple[int, bytes]:
        """Open the task's folder in `held` or `kept`; `make` it, durably, when it is missing.

        Inside of an object that is held or kept, `path` is only for looking.
        """
        folder, _, name = path.rpartition(b"/")
        fd = self._store_fds.get(folder)
        if fd is None:
            store, _, inside = folder.partition(b":")
            task, _, inside = inside.partition(b"/")
            if store not in self._stores or not task or task.startswith(b".") or (make and inside):
                raise Conflict(
                    f"`{names.show(path)}` is no name in the state folder", path=path, verdict="damaged"
                )
            where = self._stores[store] + b"/" + task
            if make:
                fd = _open_or_make(where, self._stores[store])
            else:
                fd = os.open(where, _FOLDER)
            if inside:
                fd = _open_inside(fd, inside)
            self._store_fds[folder] = fd
        return fd, name

    def look(self, path: bytes, known: Stat | Identity | None = None) -> Stat | None:
        """What stands at `path` now (a link is the link), or None; `known` is what most likely does."""
        try:
            if path[:1] == b"/" and path[-2:] != b"/.":  # `at`, without asking again: a step has six looks
                fd, name = self.places.at(path, looking=True)
            else:
                fd, name = self.at(path, looking=True)
        except OSError as exc:
            if exc.errno in _MISSING:
                return None
            raise
        except ScopeError:  # unless it is the folder around a root, in which the root's name stands
            around = self.folder_fd(path)
            return None if around is None else stat_fd(around)
        return stat_at(fd, name) if known is None else stat_again(fd, name, known)

    def is_still(self, path: bytes, known: Stat | Identity) -> bool:
        """True when `known` stands at `path` just as it was; False when that takes a `look` to tell."""
        try:
            fd, name = self.at(path, looking=True)
        except (DeskshellError, OSError):
            return False
        return is_still(fd, name, known)

    def is_free(self, path: bytes) -> bool:
        """True when nothing stands at `path`, in a folder that is there; False when that takes a `look` to tell."""
        try:
            fd, name = self.at(path, looking=True)
            return stat_at(fd, name) is None
        except (DeskshellError, OSError):
            return False

    def renameable(self, src: bytes, dst: bytes) -> bool:
        """True when an object can be renamed between the two parents; cached by parents.

        A parent that is not there yet counts as lying where its deepest existing ancestor lies.
        """
        pair = (src.rpartition(b"/")[0], dst.rpartition(b"/")[0])
        known = self._renameable.get(pair)
        if known is None:
            known = moving.renameable(self._nearest(src), self._nearest(dst))
            self._renameable[pair] = known
        return known

    def can_hold(self, path: bytes) -> bool:
        """True when the object at `path` can be renamed into holding; cached by its parent."""
        pair = (path.rpartition(b"/")[0], b"held:")
        known = self._renameable.get(pair)
        if known is None:
            fd = _open_nearest(self._stores[b"held"])
            try:
                known = moving.renameable(self._nearest(path), fd)
            finally:
                os.close(fd)
            self._renameable[pair] = known
        return known

    def free_bytes(self, path: bytes) -> tuple[int, int | None]:
        """The device that `path` will lie on, a name in a store included, and the bytes that are free there.

        None for a file system that tells no size, as ramfs and some of FUSE do.
        """
        store = self._stores.get(path.partition(b":")[0])
        with nullcontext(self._nearest(path)) if store is None else _opened(store) as fd:
            found = os.fstatvfs(fd)
            return os.fstat(fd).st_dev, found.f_bavail * found.f_frsize if found.f_blocks else None

    def _nearest(self, path: bytes) -> int:
        while True:
            try:
                return self.at(path)[0]
            except (OSError, Conflict) as exc:  # Conflict: a file stands where a folder is going to be
                above = path.rpartition(b"/")[0]
                if (isinstance(exc, OSError) and exc.errno not in _MISSING) or not above:
                    raise
                path = above

    # changing

    def rename(self, src: bytes, dst: bytes) -> None:
        """Rename, never over anything: FileExistsError when `dst` is taken."""
        src_fd, src_name = self._ready(src)
        dst_fd, dst_name = self._ready(dst)
        try:
            moving.rename(src_fd, src_name, dst_fd, dst_name)
        except OSError as exc:
            if exc.errno == errno.EXDEV:
                raise StepFailed(
                    f"`{names.show(src)}` cannot be renamed to `{names.show(dst)}`: another file system"
                ) from exc
            raise
        self._unsynced.names(dst, src)
        self._forget(src)

    def exchange(self, one: bytes, two: bytes) -> None:
        """Let two objects change places; by three renames where the file system has no exchange."""
        one_fd, one_name = self._ready(one)
        two_fd, two_name = self._ready(two)
        self._unsynced.names(two, one)
        if moving.can_exchange(two_fd):
            moving.exchange(one_fd, one_name, two_fd, two_name)
        else:
            out = one_name + b".out"
            moving.rename(two_fd, two_name, one_fd, out)
            moving.rename(one_fd, one_name, two_fd, two_name)
            moving.rename(one_fd, out, one_fd, one_name)
        self._forget(one)
        self._forget(two)

    def _forget(self, path: bytes) -> None:
        """Have no folder that we moved ourselves pass for one that somebody else moved."""
        if path[:1] == b"/":
            self.places.forget(path)

    def settle_exchange(self, slot: bytes, path: bytes, one: Identity, two: Identity) -> None:
        """Finish, or begin anew, an exchange of `one` and `two` by three renames that a crash cut short."""
        aside = slot + b".out"
        out = self.look(aside)
        if out is None or not (same_object(out, one) or same_object(out, two)):
            return
        other = two if same_object(out, one) else one
        here = self.look(path)
        if here is None:
            self.rename(aside, path)
        elif same_object(here, other) and self.look(slot) is None:
            self.rename(aside, slot)

    def note_back(self, path: bytes, dropped: Identity) -> None:
        """A copy has just taken the place of the object `dropped` at `path`."""
        found = self.look(path)
        if found is not None:
            self.heirs.take_place(path, dropped, identity(found))
            if self.heirs.on_back is not None:
                self.sync()
                self.heirs.on_back(path, dropped, identity(found))

    def _ready(self, path: bytes) -> tuple[int, bytes]:
        """`at`, for acting: the folder's path must still lead to the folder that is open."""
        if path[:1] != b"/":
            return self._in_store(path, make=True)
        self.places.recheck(path)
        return self.places.at(path)

    def drop_name(self, path: bytes) -> None:
        """Remove one of two names of the same object (never its last)."""
        fd, name = self._ready(path)
        found = stat_at(fd, name)
        if found is None or found.kind == "folder" or found.nlink < 2:
            raise Conflict(
                f"`{names.show(path)}` is the only name of this object", path=path, verdict="failed"
            )
        os.unlink(name, dir_fd=fd)
        self._unsynced.names(path)

    def remove(self, path: bytes) -> None:
        """Remove an object of our own making: a temporary, a verified leftover, a kept copy."""
        fd, name = self._ready(path)
        from deskshell.files import copying

        copying.remove_object(fd, name)
        self._forget(path)
        self._unsynced.names(path)

    def set_mode(self, path: bytes, mode: int, wanted: Identity) -> None:
        """Set permission bits of the very object `wanted`; its metadata is synced with the batch."""
        fd, name = self._ready(path)
        found = stat_at(fd, name)
        if found is None or not same_object(found, wanted):
            raise Conflict(f"`{names.show(path)}` is another object now", path=path)
        if found.nlink > 1 and found.kind != "folder":
            raise Conflict(
                f"`{names.show(path)}` has {found.nlink} names; another may lie outside the scope",
                path=path,
                verdict="blocked",
            )
        from deskshell.files import metadata

        metadata.set_mode_at(fd, name, mode)
        self._unsynced.object(path)

    def anchor_forms(self) -> list[dict[str, Any]]:
        """The folders that the scopes are anchored in, as the journal keeps them."""
        forms = []
        for anchor in self.places.anchors:
            form: dict[str, Any] = {}
            put_path(form, "path", anchor.path)
            form["id"] = [anchor.identity.kind, anchor.identity.ino, anchor.identity.birth_ns]
            form["fs"] = fs_id(anchor.fd)
            forms.append(form)
        return forms

    # folder times

    def folder_fd(self, folder: bytes) -> int | None:
        """The open folder at `folder`, the parent of a root included; None when it is not there."""
        try:
            return (
                self.places.folder_fd(folder or b"/")
                if folder[:1] in (b"", b"/")
                else self.at(folder + b"/.")[0]
            )
        except OSError as exc:
            if exc.errno in _MISSING:
                return None
            raise
        except ScopeError:
            for anchor in self.places.anchors:
                if anchor.root.rpartition(b"/")[0] == folder:
                    return self.at(anchor.root)[0]
            raise

    def folder_time(self, folder: bytes) -> FolderTime | None:
        """The time of `folder`, None when it is not there."""
        fd = self.folder_fd(folder)
        if fd is None:
            return None
        found = stat_fd(fd)
        return FolderTime(found.mtime_ns, found.ino, found.birth_ns)

    def set_folder_time(self, folder: bytes, mtime_ns: int) -> bool:
        """Give `folder` back an earlier mtime; False when that is not allowed or it is gone."""
        fd = self.folder_fd(folder)
        if fd is None:
            return False
        try:
            os.utime(fd, ns=(stat_fd(fd).atime_ns, mtime_ns))
        except PermissionError:
            return False
        self._unsynced.folder(folder)
        return True

    def may_stage_in(self, folder: bytes) -> bool:
        """False when the scope is a single file, so that its folder is not ours to write in."""
        try:
            self.at(folder + b"/.")
        except ScopeError:
            return False
        except OSError as exc:
            if exc.errno not in _MISSING:
                raise
        return True

    # staging

    def write(self, path: bytes, chunks: Iterable[bytes], mode: int | None = 0o600) -> copying.Copied:
        """Make a new file; it is synced with the other staged objects by `sync_staged`."""
        fd, name = self._ready(path)
        from deskshell.files import copying

        made = copying.write_file(fd, name, chunks, mode=mode, sync=False)
        self._unsynced.object(path)
        return made

    def make_folder(self, path: bytes, mode: int = 0o777) -> Stat:
        """Make a new folder (the umask applies)."""
        fd, name = self._ready(path)
        os.mkdir(name, mode, dir_fd=fd)
        return self._made(path, fd, name)

    def make_link(self, path: bytes, target: bytes) -> Stat:
        """Make a new symbolic link."""
        fd, name = self._ready(path)
        os.symlink(target, name, dir_fd=fd)
        return self._made(path, fd, name)

    def _made(self, path: bytes, fd: int, name: bytes) -> Stat:
        self._unsynced.names(path)
        found = stat_at(fd, name)
        if found is None:
            raise Conflict(f"`{names.show(path)}` vanished right after it was made", path=path)
        return found

    def copy(self, src: bytes, dst: bytes, wanted: str = "") -> copying.Copied:
        """A verified, synced copy with all metadata; `wanted` is the mark that it must have."""
        if wanted:
            self.verify(src, wanted)
        src_fd, src_name = self.at(src)
        dst_fd, dst_name = self._ready(dst)
        from deskshell.files import copying

        made = copying.copy_object(src_fd, src_name, dst_fd, dst_name, tick=self._tick)
        self._unsynced.names(dst)
        return made

    # syncing

    def sync_staged(self) -> None:
        """Make staged objects, and the names changed so far, durable (errors as `sync`)."""
        self._unsynced.sync()

    def sync(self) -> None:
        """Make all changes durable. EIO, ENOSPC, EDQUOT are failures; "not supported" is syncfs."""
        self._unsynced.sync()

    def touched(self) -> tuple[bytes, ...]:
        """Folders changed since the last sync."""
        return self._unsynced.folders

    def close(self) -> None:
        """Close everything that was opened."""
        for fd in self._store_fds.values():
            os.close(fd)
        self._store_fds.clear()
        self.places.close()


def _open_inside(fd: int, path: bytes) -> int:
    """Open the folder at `path` below the folder `fd`, through no link; closes `fd`."""
    try:
        return open_beneath(fd, path)
    finally:
        os.close(fd)


def _open_or_make(where: bytes, base: bytes) -> int:
    """Open a folder of the state folder; when it has to be made, its name is durable before it is used."""
    try:
        return os.open(where, _FOLDER)
    except FileNotFoundError:
        os.makedirs(where, mode=0o700, exist_ok=True)
        for above in (base, os.path.dirname(base)):
            with _opened(above) as fd:
                moving.sync_folder(fd)
        return os.open(where, _FOLDER)


def _open_nearest(where: bytes) -> int:
    """Open the folder `where`, or the deepest folder above it that is there: a preview makes none."""
    while True:
        try:
            return os.open(where or b"/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            where = where.rpartition(b"/")[0]


@contextmanager
def _opened(path: bytes) -> Iterator[int]:
    fd = _open_or_make(path, path)
    try:
        yield fd
    finally:
        os.close(fd)
