"""What the commands of `deskshell skills` print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deskshell.cli import output
from deskshell.cli.columns import pad
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, shell_path
from deskshell.files import names

if TYPE_CHECKING:
    from deskshell.app.skillset import SkillTest
    from deskshell.skills.check import Finding
    from deskshell.skills.library import Skill


def skill_json(skill: Skill) -> dict[str, Any]:
    """A skill as one object: its manifest, its description, and where it is."""
    from deskshell.skills import model

    manifest = model.to_json(skill.manifest)
    manifest["steps"] = [_as_written(step) for step in manifest["steps"]]
    return {"folder": os.fspath(skill.folder), "manifest": manifest, "text": skill.text}


def _as_written(step: dict[str, Any]) -> dict[str, Any]:
    """A step as in skill.toml, where the keys of its kind stand beside those that all steps have."""
    flat = {**step, **step.get("args", {})}
    flat.pop("args", None)
    if isinstance(flat.get("undo"), dict):
        flat["undo"] = _as_written(flat["undo"])
    return flat


def say_skill(skill: Skill) -> None:
    """Parameters, capabilities and steps, and the command line that previews it."""
    manifest = skill.manifest
    output.say(Styled(f"{manifest.name} {manifest.version}", "bold"), f": {manifest.summary}")
    output.say(Styled(f"in {shell_path(os.fspath(skill.folder))}", "dim"))
    if manifest.params:
        _heading("parameters")
        wide = max(map(len, manifest.params))
        for name, spec in manifest.params.items():
            default = "required" if spec.default is None else f"default {spec.default}"
            if spec.type == "secret":
                default = f"from DESKSHELL_SECRET_{name.upper()}, or asked for"
            choices = f" ({', '.join(spec.choices)})" if spec.choices else ""
            output.say(
                f"  {name.ljust(wide)}  {spec.type}{choices}, {default}"
                + (f": {spec.help}" if spec.help else "")
            )
    _heading("asks for")
    for capability in manifest.capabilities:
        output.say(f"  {capability.name} in {', '.join(capability.scope) or 'nothing'}: {capability.reason}")
    if not manifest.capabilities:
        output.say("  nothing, so it may do nothing")
    _heading("steps")
    ids = [step.id or str(n) for n, step in enumerate(manifest.steps, 1)]
    wide = max(map(names.width, ids))
    for name, step in zip(ids, manifest.steps, strict=True):
        final = step.irreversible or step.undo == "none"
        each = f", for each of `{_selector(step.for_each)}`" if step.for_each else ""
        output.say(
            f"  {pad(name, wide)}  {step.action}{each}",
            Styled("  cannot be undone", "yellow") if final else "",
        )
    needed = [
        f" --set {name}=…"
        for name, spec in manifest.params.items()
        if spec.default is None and spec.type != "secret"
    ]
    output.say("")
    output.say("preview with: ", Styled(f"deskshell run {manifest.name}{''.join(needed)}", "bold"))


def _heading(text: str) -> None:
    output.say("")
    output.say(Styled(f"{text}:", "bold"))


def _selector(for_each: Any) -> str:
    value = getattr(for_each, for_each.source)
    return value if isinstance(value, str) else ", ".join(value)


def say_findings(skill: str, findings: Sequence[Finding]) -> None:
    """A line a finding, and how many there are."""
    for each in findings:
        output.say(Styled(f"{each.level}:", "red" if each.level == "error" else "yellow"), f" {each.text}")
        if each.hint:
            output.say("  ", Styled("hint:", "cyan"), f" {each.hint}")
    if findings:
        output.say(f"{skill}: {count(len(findings), 'finding')}")
    else:
        output.say(Styled("ok", "green"), f": {skill}")


def say_test(result: SkillTest) -> None:
    """The one line of a skill's own test, then what differs."""
    style = "yellow" if result.skipped else "green" if result.ok else "red"
    word, space, rest = result.line.partition(" ")
    output.say(Styled(word, style), space + rest)
    for each in result.differences:
        output.say(f"  {each}")
    output.flush()  # each test takes a while, and is read as it comes


def test_json(name: str, result: SkillTest) -> dict[str, Any]:
    """The result of one skill's test."""
    return {
        "skill": name,
        "line": result.line,
        "ok": result.ok,
        "skipped": result.skipped,
        "differences": list(result.differences),
    }
