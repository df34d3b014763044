"""Post-conditions of a step: one that does not hold fails the step, and the kernel rolls back."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deskshell.errors import ManifestError
from deskshell.files import names
from deskshell.files.names import get_path, put_path
from deskshell.kernel.capability import FS_READ, Need, path_need
from deskshell.kernel.secrets import SecretText
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.kernel.context import Context

_HASH = re.compile(r"[0-9a-fA-F]{64}")


class Assertion(Protocol):
    """One condition, checked right after its step acted."""

    def check(self, ctx: Context) -> str | None:
        """None when it holds, else what is so instead (one line)."""

    def needs(self) -> Iterable[Need]:
        """Targets that the check looks at."""

    def to_json(self) -> Mapping[str, Any]:
        """The manifest's form with templates filled in, for stored plans (`from_json`)."""


@slotted(frozen=True)
class _OnPath:
    path: bytes

    def needs(self) -> Iterable[Need]:
        """See `Assertion`."""
        return (path_need(FS_READ, self.path),)

    def _form(self, key: str, **others: Any) -> Mapping[str, Any]:
        form: dict[str, Any] = dict(others)
        put_path(form, key, self.path)
        return form

    def _no_file(self, ctx: Context) -> str | None:
        """What is wrong when no regular file stands here: nothing else is ever opened (F36)."""
        found = ctx.ground.look(self.path)
        if found is None:
            return f"`{names.show(self.path)}` does not exist"
        return None if found.kind == "file" else f"`{names.show(self.path)}` is a {found.kind}, not a file"


@slotted(frozen=True)
class Exists(_OnPath):
    """`exists`: something has this name, a dangling link included."""

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        found = ctx.ground.look(self.path)
        return f"`{names.show(self.path)}` does not exist" if found is None else None

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("exists")


@slotted(frozen=True)
class Missing(_OnPath):
    """`missing`: nothing has this name."""

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        found = ctx.ground.look(self.path)
        return None if found is None else f"`{names.show(self.path)}` exists (a {found.kind})"

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("missing")


@slotted(frozen=True)
class IsFolder(_OnPath):
    """`is_folder`: a folder, and no link to one, has this name."""

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        found = ctx.ground.look(self.path)
        if found is None:
            return f"`{names.show(self.path)}` does not exist"
        return (
            None if found.kind == "folder" else f"`{names.show(self.path)}` is a {found.kind}, not a folder"
        )

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("is_folder")


@slotted(frozen=True)
class Sha256(_OnPath):
    """`sha256` + `path`: the regular file there has this hash. Raises ManifestError when it is none."""

    sha256: str

    def __post_init__(self) -> None:
        if not _HASH.fullmatch(self.sha256):
            raise ManifestError(f"`{self.sha256}` is no sha256", hint="it has 64 hexadecimal digits")

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        wrong = self._no_file(ctx)
        if wrong is not None:
            return wrong
        found = ctx.ground.hash(self.path)
        return None if found == self.sha256.lower() else f"`{names.show(self.path)}` has the sha256 {found}"

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("path", sha256=self.sha256)


@slotted(frozen=True)
class Contains(_OnPath):
    """`contains` + `path`: the regular file there holds this text, as UTF-8."""

    text: SecretText

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`. The text is not quoted: it may hold a secret."""
        wrong = self._no_file(ctx)
        if wrong is not None:
            return wrong
        wanted = self.text.reveal(ctx.secrets).encode("utf-8")
        content = ctx.ground.read(self.path) or b""
        return None if wanted in content else f"`{names.show(self.path)}` does not contain the text asked for"

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("path", contains=self.text.to_json())


@slotted(frozen=True)
class Count(_OnPath):
    """`count` + `files`: so many names in one folder match; `path` ends in a pattern (`*`, `?`, `[…]`)."""

    count: int

    @property
    def folder(self) -> bytes:
        """The folder that is listed."""
        return self.path.rpartition(b"/")[0] or b"/"

    def needs(self) -> Iterable[Need]:
        """See `Assertion`."""
        return (path_need(FS_READ, self.folder),)

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        pattern = self.path.rpartition(b"/")[2].decode("utf-8", "surrogateescape")
        fits = re.compile(fnmatch.translate(pattern)).match
        found = ctx.ground.look(self.folder)
        inside = ctx.ground.first_names(self.folder, sys.maxsize) if found is not None else []
        count = sum(fits(name.decode("utf-8", "surrogateescape")) is not None for name in inside)
        return (
            None
            if count == self.count
            else f"{count} names match `{names.show(self.path)}`, not {self.count}"
        )

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return self._form("files", count=self.count)


@slotted(frozen=True)
class Status:
    """`status`: what the server answered to the step's request."""

    status: int

    def check(self, ctx: Context) -> str | None:
        """See `Assertion`."""
        found = ctx.outcome.get("status")
        return None if found == self.status else f"the answer's status is {found}, not {self.status}"

    def needs(self) -> Iterable[Need]:
        """See `Assertion`."""
        return ()

    def to_json(self) -> Mapping[str, Any]:
        """See `Assertion`."""
        return {"status": self.status}


def from_json(data: Mapping[str, Any]) -> Assertion:
    """Read `Assertion.to_json`'s form. Raises ManifestError on anything else."""
    try:
        match data:
            case {"exists": _}:
                return Exists(get_path(data, "exists"))
            case {"missing": _}:
                return Missing(get_path(data, "missing"))
            case {"is_folder": _}:
                return IsFolder(get_path(data, "is_folder"))
            case {"sha256": str(sha256)}:
                return Sha256(get_path(data, "path"), sha256)
            case {"contains": text}:
                return Contains(get_path(data, "path"), SecretText.from_json(text))
            case {"count": int(count)}:
                return Count(get_path(data, "files"), count)
            case {"status": int(status)}:
                return Status(status)
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        raise ManifestError(f"a post-condition in the stored plan cannot be read: {exc!r}") from exc
    raise ManifestError("a post-condition in the stored plan is of no known kind")
