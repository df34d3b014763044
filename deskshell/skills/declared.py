"""The capabilities that a manifest declares, with their scopes resolved (`kernel.md`, section 4)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deskshell.errors import CapabilityError, ManifestError, UsageError
from deskshell.files import paths
from deskshell.kernel.capability import KNOWN, NET_REQUEST, Grant, Scope
from deskshell.skills import template, template_path
from deskshell.skills.params import Where
from deskshell.skills.subject import Subject
from deskshell.skills.suggest import unknown

if TYPE_CHECKING:
    from deskshell.skills.model import CapabilitySpec, Manifest


def grants(manifest: Manifest, values: template.Names, where: Where) -> tuple[Grant, ...]:
    """One grant a capability, in the manifest's order; a capability without scope grants nothing.

    Raises:
        ManifestError: a URL prefix that is none. ScopeError, NotFound: a path that cannot be resolved.
    """
    return tuple(
        Grant(spec.name, tuple(_scope(spec, text, values, where) for text in spec.scope), spec.reason)
        for spec in manifest.capabilities
    )


def _scope(spec: CapabilitySpec, text: str, values: template.Names, where: Where) -> Scope:
    parsed = template.parse(text)
    what = f"the scope of {spec.name}"
    if spec.name == NET_REQUEST:
        url = template.compile_plain(parsed, values, what)(Subject())
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
            raise ManifestError(
                f"`{url}` in {what} is no URL prefix", hint="write https://example.org/folder/"
            )
        return Scope(url, url)
    path = where.absolute(template_path.compile_path(parsed, values, what)(Subject()))
    return Scope(root_of(path), where.shorten(path))


def root_of(path: bytes) -> bytes:
    """What a scope on the absolute `path` covers: a folder that it leads to, through links too; else itself.

    A link to a file is the link, as every target is, and grants nothing of what it points to.
    """
    root = paths.resolve(path)
    return root if os.path.isdir(root) or path.endswith(b"/") else paths.resolve_target(path)


def narrow(declared: Iterable[Grant], wanted: Iterable[str] | None) -> tuple[Grant, ...]:
    """The declared grants that `--grant` names; all of them for None.

    Raises:
        UsageError: no such capability. CapabilityError: it is not declared.
    """
    every = tuple(declared)
    if wanted is None:
        return every
    chosen = tuple(wanted)
    for name in chosen:
        if name not in KNOWN:
            raise UsageError(unknown("capability", name, KNOWN), hint=f"one of {', '.join(KNOWN)}")
        if not any(grant.capability == name for grant in every):
            raise CapabilityError(
                f"`{name}` is not declared by the skill", hint="only what is declared can be granted"
            )
    return tuple(grant for grant in every if grant.capability in chosen)
