"""What a person reads before they approve a plan: built from typed values, so that nothing can forge it.

Every value stands in double quotes, with quotes, backslashes, control, ANSI and direction characters
escaped, and is cut in the middle when it is long: a file's name or content cannot end its quotes, start a
line or steer a terminal. Words that an agent or a manifest wrote (ids, reasons) are quoted like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from deskshell.files import names
from deskshell.kernel import gate
from deskshell.kernel.action import Action, Param
from deskshell.kernel.capability import Grant
from deskshell.kernel.plan import Plan, Step
from deskshell.kernel.secrets import SecretText

_PATH_COLUMNS = 90
_TEXT_COLUMNS = 50
_MOST_STEPS = 8
_MOST_SCOPES = 4
MOST_CHARS = 6000


def lines(plan: Plan, digest: str) -> list[str]:
    """The plan for a person, a fact a line.

    Args:
        plan: what would be done.
        digest: of the plan, hex; its first eight digits are shown.
    """
    origin = plan.origin
    count = len(plan.steps)
    size = "1 step" if count == 1 else f"{count} steps"
    found = [
        f"deskshell would run {quoted(origin.skill)} {quoted(origin.version)}: {size}. Digest {digest[:8]}."
    ]
    final = [step for step in plan.steps if gate.needs_consent(step)]
    if final:
        found.append(f"CANNOT BE UNDONE ({len(final)}):")
        found += _steps(final)
        rest = [step for step in plan.steps if step not in final]
        if rest:
            found.append(f"Can be undone ({len(rest)}):")
            found += _steps(rest)
    else:
        found.append("All of it can be undone:")
        found += _steps(plan.steps)
    found.append("It may use:")
    found += [f"  {_grant(grant)}" for grant in plan.declared]
    return found


def text(plan: Plan, digest: str) -> str:
    """`lines` as one text of at most `MOST_CHARS` characters; what is left out is counted, never silent."""
    found = "\n".join(lines(plan, digest))
    if len(found) <= MOST_CHARS:
        return found
    half = MOST_CHARS // 2 - 40
    cut = len(found) - 2 * half
    return f"{found[:half]}\n… ({cut} characters left out) …\n{found[-half:]}"


def quoted(value: bytes | str, columns: int = _TEXT_COLUMNS) -> str:
    """`value` on one line in double quotes, safe to show, at most `columns` wide within them."""
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return '"' + names.shorten(names.show(raw).replace('"', '\\"'), columns) + '"'


def _steps(steps: Sequence[Step]) -> list[str]:
    found = [f"  {step.n + 1}. {_action(step.action)}{_undo(step)}" for step in steps[:_MOST_STEPS]]
    if len(steps) > _MOST_STEPS:
        found.append(f"  … and {len(steps) - _MOST_STEPS} more like these; `plan_show` lists all")
    return found


def _undo(step: Step) -> str:
    given = step.terms.compensation
    if given is None or not step.compensated:
        return ""
    return f"; taken back only by {_action(given)}"


def _action(action: Action) -> str:
    words = [action.kind]
    for param in (*action.params, *action.planned):
        value = getattr(action, param.field)
        if value is not None and (value != param.default or param.required):
            words.append(f"{param.name} {_value(param, value)}")
    return " ".join(words)


def _value(param: Param, value: object) -> str:
    if isinstance(value, SecretText):
        return quoted(value.masked())
    if isinstance(value, bytes) and param.type == "bytes":
        return f"({len(value)} bytes)"
    if isinstance(value, bytes):
        return quoted(value, _PATH_COLUMNS)
    if isinstance(value, tuple):
        shown = ", ".join(_item(each) for each in value[:_MOST_SCOPES])
        return shown + (f" and {len(value) - _MOST_SCOPES} more" if len(value) > _MOST_SCOPES else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:04o}" if param.type == "mode" else str(value)
    return quoted(str(value))


def _item(value: object) -> str:
    if isinstance(value, bytes):
        return quoted(value, _PATH_COLUMNS)
    if isinstance(value, tuple):
        return ": ".join(_item(each) for each in value)
    return quoted(value.masked() if isinstance(value, SecretText) else str(value))


def _grant(grant: Grant) -> str:
    roots = [quoted(scope.root, _PATH_COLUMNS) for scope in grant.scopes[:_MOST_SCOPES]]
    more = len(grant.scopes) - len(roots)
    where = ", ".join(roots) + (f" and {more} more" if more > 0 else "")
    reason = f" (its author says: {quoted(grant.reason)})" if grant.reason else ""
    return f"{grant.capability} in {where or 'nothing'}{reason}"
