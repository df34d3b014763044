"""What `gc`, `doctor` and `journal verify` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deskshell.cli import output
from deskshell.cli.faults import tell
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, size

if TYPE_CHECKING:
    from deskshell.app.doctor import Check
    from deskshell.kernel.gc import GcReport
    from deskshell.store.verify import VerifyReport

_WORDS = {True: ("ok", "green"), None: ("warn", "yellow"), False: ("fail", "red")}


def say_gc(report: GcReport) -> None:
    """What went, task by task, and what is still kept; expired tasks cannot be undone any more."""
    for each in report.expired:
        word = "would expire" if report.dry_run else "expired"
        ends = "" if each.ends == "nothing" else f", no {each.ends} after this"
        skill = f" ({each.skill})" if each.skill else ""
        output.say(Styled(word, "yellow"), f" {each.task_id}{skill}: {size(each.bytes)}{ends}")
    freed = "would free" if report.dry_run else "freed"
    output.say(f"{freed} {size(report.freed_bytes)}, {size(report.kept_bytes)} kept for undo")
    told = {f"{each.ends} of {each.task_id}" for each in report.expired}
    for warning in report.warnings:
        if not any(warning.startswith(each) for each in told):  # said above, line by line
            tell(warning, label="warning", style="yellow")


def say_checks(checks: Sequence[Check]) -> None:
    """A line a check: ok, warn or fail, in words, with what to do where something is not right."""
    wide = max((len(each.name) for each in checks), default=0)
    for each in checks:
        word, style = _WORDS[each.ok]
        output.say(Styled(word.ljust(4), style), f"  {each.name.ljust(wide)}  {each.text}")
        if each.hint and each.ok is not True:
            output.say(" " * (wide + 8), Styled("hint:", "cyan"), f" {each.hint}")
    failed = sum(each.ok is False for each in checks)
    warned = sum(each.ok is None for each in checks)
    output.say(f"{count(len(checks), 'check')}: {failed} failed, {count(warned, 'warning')}")


def say_verified(report: VerifyReport) -> None:
    """How much of the journal is as it was written, and what is not."""
    facts = f"{count(report.lines, 'line')} in {count(report.segments, 'file')}"
    if report.ok:
        output.say(Styled("ok", "green"), f": {facts}, all as they were written")
    else:
        output.say(Styled("damaged", "red"), f": {facts}; good up to line number {report.verified_to_seq:,}")
    if report.unverified_lines:
        output.say(f"  {count(report.unverified_lines, 'line')} of an older format, without checks")
    for dropped in report.dropped:
        names = ", ".join(name for name, _ in dropped.files)
        output.say(f"  dropped on purpose: {names} (lines {dropped.first_seq:,} to {dropped.last_seq:,})")
    for sentence in report.torn:
        output.say(f"  never finished, and not counted: {sentence}")
    for sentence in report.damage:
        tell(sentence)
    if report.damage:
        tell(
            "nothing was changed",
            "copy the state folder away before anything else; see `deskshell doctor`",
            label="note",
        )


def verified_json(report: VerifyReport) -> dict[str, Any]:
    """The object of `journal verify --json`."""
    return {
        "ok": report.ok,
        "lines": report.lines,
        "segments": report.segments,
        "verifiedToSeq": report.verified_to_seq,
        "unverifiedLines": report.unverified_lines,
        "torn": report.torn,
        "damage": report.damage,
        "dropped": [
            {
                "firstSeq": each.first_seq,
                "lastSeq": each.last_seq,
                "files": [{"name": name, "sha256": sha256} for name, sha256 in each.files],
            }
            for each in report.dropped
        ],
    }
