"""`SKILL.md` in the Agent Skills format: a head between two `---` lines, then prose for people and agents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from deskshell.slotted import field, slotted

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
KNOWN_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]+(.*))?")


@slotted(frozen=True)
class SkillText:
    """The head's keys (text, or a table of texts) and the prose after it."""

    head: Mapping[str, str | Mapping[str, str]]
    body: str
    problems: tuple[str, ...] = field(default=())


def read(text: str) -> SkillText:
    """Read a `SKILL.md`; what is wrong with its form is in `problems`.

    The head is the part of YAML that these files use: `key: value`, quoted or folded (`>`, `|`) values, and one
    level of nested keys.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return SkillText({}, text, ("it does not begin with a line `---`",))
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return SkillText({}, text, ("its head is not closed by a second line `---`",))
    head: dict[str, str | dict[str, str]] = {}
    problems: list[str] = []
    key = ""
    folded: list[str] | None = None
    for line in lines[1:end]:
        indented = line[:1] in (" ", "\t")
        found = _KEY.fullmatch(line.strip())
        if folded is not None and (indented or not line.strip()):
            folded.append(line.strip())
            head[key] = " ".join(part for part in folded if part)
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        elif found is None:
            problems.append(f"its head has a line that is no `key: value`: `{line.strip()}`")
        elif indented:
            table = head.get(key)
            if not isinstance(table, dict):
                table = head[key] = {}
            table[found[1]] = _unquote(found[2] or "")
        else:
            key, value = found[1], (found[2] or "").strip()
            folded = [] if value in (">", "|", ">-", "|-") else None
            head[key] = "" if folded is not None else _unquote(value)
    return SkillText(head, "\n".join(lines[end + 1 :]).strip() + "\n", tuple(problems))


def _unquote(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace('\\"', '"').replace("''", "'")
    return value


def problems(text: SkillText, name: str) -> Iterator[str]:
    """What keeps it from being a valid skill of this `name`, one sentence each (agentskills.io, specification)."""
    yield from text.problems
    if text.head.get("name") != name:
        yield f"its `name` is `{text.head.get('name', '')}`, not `{name}` as its folder"
    description = text.head.get("description", "")
    if not isinstance(description, str) or not description.strip():
        yield "its `description` is missing; agents choose a skill by it"
    elif len(description) > MAX_DESCRIPTION:
        yield f"its `description` has {len(description)} characters, {MAX_DESCRIPTION} at most"
    compatibility = text.head.get("compatibility", "")
    if isinstance(compatibility, str) and len(compatibility) > MAX_COMPATIBILITY:
        yield f"its `compatibility` has {len(compatibility)} characters, {MAX_COMPATIBILITY} at most"
    for key in text.head:
        if key not in KNOWN_KEYS:
            yield f"its head has the key `{key}`, which the format does not know; put it under `metadata`"
    if not text.body.strip():
        yield "it has no text below its head"
