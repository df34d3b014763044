"""Narrowing what a plan may touch to some folders, and asking whether a task stayed within them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from deskshell.errors import ScopeError
from deskshell.files import names
from deskshell.files.paths import is_within
from deskshell.kernel.capability import Grant, PathTarget, Scope, path_roots
from deskshell.kernel.plan import Plan
from deskshell.slotted import replace

Roots = Sequence[bytes]


def narrow(grants: Iterable[Grant], roots: Roots | None) -> tuple[Grant, ...]:
    """`grants` cut down to what lies within `roots` (resolved folders); None leaves them as they are.

    A scope above a root becomes that root. URL prefixes are no folders, and stay.
    """
    if roots is None:
        return tuple(grants)
    return tuple(replace(grant, scopes=_within(grant, roots)) for grant in grants)


def _within(grant: Grant, roots: Roots) -> tuple[Scope, ...]:
    found: list[Scope] = []
    for scope in grant.scopes:
        if isinstance(scope.root, str) or any(is_within(scope.root, root) for root in roots):
            found.append(scope)
            continue
        below = [root for root in roots if is_within(root, scope.root)]
        found += [Scope(root, names.show(root)) for root in below]
    return tuple(found)


def both(one: Roots | None, two: Roots | None) -> tuple[bytes, ...] | None:
    """The folders that lie within both; None stands for everywhere."""
    if one is None or two is None:
        given = two if one is None else one
        return None if given is None else tuple(given)
    found = {a if is_within(a, b) else b for a in one for b in two if is_within(a, b) or is_within(b, a)}
    return tuple(sorted(found))


def restrict(plan: Plan, roots: Roots | None) -> Plan:
    """`plan` with its grants narrowed to `roots`.

    Raises ScopeError when a step touches what lies outside; names step, target and roots.
    """
    if roots is None:
        return plan
    for step in chain((folder for _, folder in plan.folders), plan.steps):
        for need in step.needs():
            target = need.target
            if isinstance(target, PathTarget) and not any(is_within(target.path, root) for root in roots):
                shown = ", ".join(f"`{names.show(root)}`" for root in roots) or "nothing"
                raise ScopeError(
                    f"step `{step.action_id}` touches `{target.show()}`, outside the roots of this server: {shown}",
                    hint="the person who starts the server chooses its roots (`--root`); a client can only narrow them",
                )
    return replace(plan, declared=narrow(plan.declared, roots))


def covers(roots: Roots | None, begin: Mapping[str, Any]) -> bool:
    """Whether all that a task was granted (its `begin` line says so) lies within `roots`."""
    if roots is None:
        return True
    granted = path_roots(Grant.from_json(each) for each in begin.get("grants", ()))
    return all(any(is_within(path, root) for root in roots) for path in granted)
