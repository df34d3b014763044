"""A preview as text: the tree of what would be where, the sums, and what to know before saying yes."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from deskshell.cli import output, reports
from deskshell.cli.output import Styled
from deskshell.cli.tree import grow, say_tree
from deskshell.cli.wording import count, size
from deskshell.files import names

if TYPE_CHECKING:
    from deskshell.app import Prepared
    from deskshell.kernel.plan import Step


def say_preview(prepared: Prepared) -> None:
    """Print what the plan would do. Nothing in it was done."""
    report = prepared.report()
    origin = prepared.plan.origin
    title = f"{origin.skill} {origin.version}".strip()
    if not report.steps:
        output.say(Styled(title, "bold"), ": nothing to do")
        _say_notes(report.notes)
        return
    output.say(
        Styled(title, "bold"), f" would take {count(len(report.steps), 'step')}; nothing is changed yet"
    )
    output.say("")
    tree = grow(_nodes(prepared))
    if tree.children:
        say_tree(tree, guides=output.is_terminal(sys.stdout))
        output.say("")
    kinds = Counter(step.action.kind for step in prepared.plan.steps)
    sums = [f"{number:,} {kind}" for kind, number in kinds.items()]
    if prepared.plan.folders:
        sums.append(count(len(prepared.plan.folders), "new folder"))
    total = sum(size_bytes or 0 for _, kind, size_bytes, _ in prepared.tree() if kind == "file")
    output.say(
        f"{count(len(report.steps), 'step')}: {', '.join(sums)}" + (f"; {size(total)}" if total else "")
    )
    hard = [step for step in report.steps if not step.reversible]
    for label, compensated in (("cannot be undone:", False), ("undone only by its counter-action:", True)):
        found = [f"{step.action_id} ({step.summary})" for step in hard if step.compensated is compensated]
        if found:
            output.say(Styled(label, "yellow"), f" {reports.shortened(found)}")
    if not hard:
        output.say("all of it can be undone")
    _say_notes(report.notes)


def _nodes(prepared: Prepared) -> Iterator[tuple[bytes, bool, int | None, str]]:
    """What `grow` takes: folders that a step needs and nobody asked for, then what each step is about."""
    for _, folder in prepared.plan.folders:
        target = folder.action.target()
        if isinstance(target, bytes):
            yield target, True, None, "new"
    for path, kind, size_bytes, n in prepared.tree():
        yield path, kind == "folder", size_bytes, _note(prepared.plan.steps[n])


def _note(step: Step) -> str:
    """What a step does to the name it stands beside: `move`, `move from old-name.txt`, `write, no undo`."""
    note = step.action.kind.rpartition(".")[2]
    target = step.action.target()
    for param in step.action.params:
        if param.name == "from" and isinstance(target, bytes):
            old, new = getattr(step.action, param.attr or param.name).split(b"/"), target.split(b"/")
            if old[-1] != new[-1]:
                note += f" from {names.show(old[-1])}"
    return note if step.reversible else f"{note}, no undo"


def _say_notes(notes: Sequence[str], most: int = 20) -> None:
    for note in notes[:most]:
        output.say(Styled("note:", "cyan"), f" {note}")
    if len(notes) > most:
        output.say(Styled(f"… and {count(len(notes) - most, 'more note')}; `--json` lists them all", "dim"))


def say_how_to_apply(prepared: Prepared, skill: str, given: Mapping[str, str], grant: Iterable[str]) -> None:
    """Print the command line that applies what was shown; secrets are left to their variables."""
    words = ["deskshell", "run", quoted(skill)]
    words.append("--ask" if prepared.needs_consent else "--mode apply")
    words += [f"--grant {quoted(name)}" for name in grant]
    secret = prepared.plan.secrets
    words += [f"--set {quoted(f'{name}={value}')}" for name, value in given.items() if name not in secret]
    output.say("")
    output.say("apply with: ", Styled(" ".join(words), "bold"))


def quoted(word: str) -> str:
    r"""`word` for a shell, on one line; what cannot be printed is written as in bash's `$'…'`."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(
        char
        if char.isprintable() and char not in "'\\"
        else "".join(f"\\x{byte:02x}" for byte in _bytes(char))
        for char in word
    )
    return f"$'{escaped}'"


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape")
