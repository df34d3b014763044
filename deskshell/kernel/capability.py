"""What may be done, where, and the check of a plan against what was granted (I10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deskshell.errors import CapabilityError, ScopeError
from deskshell.files import names
from deskshell.files.paths import is_within
from deskshell.slotted import NamedTuple, slotted

FS_READ = "fs.read"
FS_WRITE = "fs.write"
FS_DELETE = "fs.delete"
NET_REQUEST = "net.request"
KNOWN = (FS_READ, FS_WRITE, FS_DELETE, NET_REQUEST)


class PathTarget(NamedTuple):
    """A path: absolute, its parent resolved, the last component never followed."""

    path: bytes

    def within(self, scope: Scope) -> bool:
        """True at or below the scope's folder, by whole components."""
        root = scope.root
        return isinstance(root, bytes) and is_within(self.path, root)

    def show(self) -> str:
        """The path with control and bidirectional characters escaped."""
        return names.show(self.path)


class UrlTarget(NamedTuple):
    """A URL; in scope when scheme, host and port are equal and the path lies below the prefix."""

    url: str

    def within(self, scope: Scope) -> bool:
        """True below the scope's URL prefix; never with user information in the URL."""
        return isinstance(scope.root, str) and _url_below(self.url, scope.root)

    def show(self) -> str:
        """The URL without its query, which may hold what should not be printed."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        return names.show(f"{parts.scheme}://{parts.netloc}{parts.path}".encode())


class Need(NamedTuple):
    """A capability that a step needs, and the target it needs it for: each type of target owns its scope test."""

    capability: str
    target: PathTarget | UrlTarget


def path_need(capability: str, path: bytes) -> Need:
    """A need for `path` (see `PathTarget`)."""
    return _new(Need, (capability, _new(PathTarget, (path,))))


_new = tuple.__new__  # past the classes' own: there are several for each step


@slotted(frozen=True)
class Scope:
    """Where a capability holds: a resolved folder or file (bytes), or a URL prefix (str).

    `declared` is what the manifest said, for people.
    """

    root: bytes | str
    declared: str


@slotted(frozen=True)
class Grant:
    """The user's yes to one capability in its scopes, for one task."""

    capability: str
    scopes: tuple[Scope, ...]
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The journal form; a root that is not UTF-8 also as base64."""
        roots: list[Any] = []
        for each in self.scopes:
            if isinstance(each.root, str):
                roots.append({"url": each.root})
            else:
                text, b64 = names.plain(each.root)
                roots.append({"path": text} if b64 is None else {"path": text, "pathBytes": b64})
        return {"capability": self.capability, "scope": roots, "reason": self.reason}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Grant:
        """Read `to_json`'s form."""
        scopes = []
        for each in data["scope"]:
            if "url" in each:
                scopes.append(Scope(each["url"], each["url"]))
            else:
                root = names.from_json(each["path"], each.get("pathBytes"))
                scopes.append(Scope(root, each["path"]))
        return cls(data["capability"], tuple(scopes), data.get("reason", ""))


def path_roots(grants: Iterable[Grant]) -> tuple[bytes, ...]:
    """All folders and files that the grants allow acting in, each once, in order."""
    roots: dict[bytes, None] = {}
    for grant in grants:
        for each in grant.scopes:
            if isinstance(each.root, bytes):
                roots[each.root] = None
    return tuple(roots)


class Checker:
    """Checks needs against declared and granted capabilities; one per plan."""

    def __init__(self, declared: Iterable[Grant], granted: Iterable[Grant]) -> None:
        self._declared = _by_name(declared)
        self._granted = _by_name(granted)
        self._covered: set[tuple[str, bytes]] = set()  # (capability, folder) with all that is in the folder

    def check(self, step: str, needs: Iterable[Need]) -> None:
        """Refuse the plan if a need of `step` is not covered.

        Raises:
            CapabilityError: the capability is not declared, or declared but not granted.
            ScopeError: it is granted, but not for this target.
        """
        for need in needs:
            capability, target = need
            folder = target.path.rpartition(b"/")[0] if type(target) is PathTarget else b""
            if (capability, folder) not in self._covered:
                self._check(step, need, folder)

    def _check(self, step: str, need: Need, folder: bytes) -> None:
        capability, target = need
        scopes = self._granted.get(capability, ())
        if not any(target.within(each) for each in scopes):
            self._refuse(step, need)
        if folder and any(PathTarget(folder).within(each) for each in scopes):
            self._covered.add((capability, folder))

    def _refuse(self, step: str, need: Need) -> None:
        target, name = need.target.show(), need.capability
        if name not in self._declared:
            raise CapabilityError(
                f"step `{step}` needs `{name}` for `{target}`, which the skill does not declare",
                hint=f'declare it in [[capabilities]] with name = "{name}", a scope and a reason',
            )
        if name not in self._granted:
            raise CapabilityError(
                f"step `{step}` needs `{name}` for `{target}`, which was not granted",
                hint=f"grant `{name}` as well, or leave the grants out: then all that is declared is granted",
            )
        where = ", ".join(f"`{each.declared}`" for each in self._granted[name]) or "nothing"
        raise ScopeError(
            f"step `{step}` needs `{name}` for `{target}`, outside the granted scope: {where}",
            hint="a link inside a scope does not lead out of it; widen the scope, or change the step",
        )


def _by_name(grants: Iterable[Grant]) -> dict[str, tuple[Scope, ...]]:
    found: dict[str, tuple[Scope, ...]] = {}
    for grant in grants:
        if grant.scopes:  # an empty scope grants nothing
            found[grant.capability] = found.get(grant.capability, ()) + grant.scopes
    return found


_PORTS = {"http": 80, "https": 443}


def _url_below(url: str, prefix: str) -> bool:
    from urllib.parse import unquote, urlsplit  # few plans have a URL

    one, two = urlsplit(url), urlsplit(prefix)
    # Servers decode before they resolve: `/form/%2e%2e/admin` lies outside of `/form`.
    if "@" in one.netloc or "\\" in url or any(part in ("..", ".") for part in unquote(one.path).split("/")):
        return False
    try:
        same = (one.scheme, one.hostname, one.port or _PORTS.get(one.scheme)) == (
            two.scheme,
            two.hostname,
            two.port or _PORTS.get(two.scheme),
        )
    except ValueError:  # a port that is no number
        return False
    base = two.path.rstrip("/")
    return same and (one.path == base or one.path.startswith(base + "/") or not base)
