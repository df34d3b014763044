"""A plan is applied at most once, and only to the state it was made from (I8)."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

from deskshell.errors import NotFound, PlanRefused, UsageError
from deskshell.store.lock import TaskLock
from tests.support.listing import difference
from tests.support.planning import Shell, delete, move, set_older, write


def test_a_plan_changes_nothing_until_it_is_applied(shell):
    shell.make({"a.txt": "A"})
    before = shell.listing()

    plan = shell.plan(move("a.txt", "docs/a.txt"))

    assert difference(before, shell.listing()) == []
    assert shell.apply(plan).status == "applied"
    assert (shell.root / "docs/a.txt").read_text() == "A"


def test_applying_again_does_nothing_and_gives_the_first_result(shell):
    shell.make({"a.txt": "A"})
    plan = shell.plan(move("a.txt", "b.txt"), write("note", "moved"))

    first = shell.apply(plan)
    after = shell.listing()
    second = shell.apply(plan)

    assert (first.status, second.status) == ("applied", "already_applied")
    assert first.report.to_json() == second.report.to_json()
    assert second.exit_code == 0
    assert difference(after, shell.listing()) == []
    assert len(shell.begins()) == 1


def test_the_begin_of_the_task_is_the_claim(shell):
    plan = shell.plan(write("note", "x"))
    shell.apply(plan)

    (begin,) = shell.begins()
    assert begin["planId"] == plan.stored.plan_id
    assert begin["planDigest"] == plan.stored.digest


def test_an_undone_plan_still_answers_with_its_first_result_and_is_not_done_anew(shell):
    plan = shell.plan(write("note", "x"))
    first = shell.apply(plan)
    shell.app().undo(task=first.report.task_id)

    again = shell.apply(plan)

    assert again.status == "already_applied"
    assert again.report.to_json() == first.report.to_json()
    assert not (shell.root / "note").exists()


def test_a_plan_whose_record_was_cleared_away_is_known_from_the_journal(shell):
    plan = shell.plan(write("note", "x"))
    shell.apply(plan)
    shell.plan_file(plan).unlink()

    assert shell.apply(plan).status == "already_applied"


def test_the_first_plan_in_an_empty_folder_is_applied_once_under_any_name(shell):
    """F21: a plan that has nothing to compare with is still done once."""
    plan = shell.plan({"action": "noop"})
    shell.apply(plan)
    copy = "0123456789abcdef"
    shutil.copy(shell.plan_file(plan), shell.plan_file(copy))

    assert shell.apply(plan).status == "already_applied"
    with pytest.raises(PlanRefused, match="copy of another plan"):
        shell.apply(copy)
    assert len(shell.begins()) == 1


def test_a_copy_whose_id_was_changed_too_is_known_by_its_digest(shell):
    """F21: what was run is recorded by content."""
    plan = shell.plan({"action": "noop"})
    shell.apply(plan)
    copy = "0123456789abcdef"
    record = json.loads(shell.plan_file(plan).read_bytes())
    shell.plan_file(copy).write_text(json.dumps({**record, "planId": copy}))

    with pytest.raises(PlanRefused, match=f"copy of `{plan.stored.plan_id}`"):
        shell.apply(copy)
    assert len(shell.begins()) == 1


def _cp_p(shell: Shell, name: str) -> None:
    """`cp -p` of an older file of the same size over `name` (F22)."""
    other = shell.root.parent / "other"
    other.write_text("B")
    set_older(other, 3600)
    shutil.copy(other, shell.root / name)
    shutil.copystat(other, shell.root / name)


def _same_time(shell: Shell, name: str) -> None:
    """Other content of the same size, and the modification time put back."""
    path = shell.root / name
    status = path.stat()
    path.write_text("Z")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replace(shell: Shell, name: str) -> None:
    """Another file under the name, with the same content and times."""
    path = shell.root / name
    status = path.stat()
    twin = shell.root.parent / "twin"
    twin.write_bytes(path.read_bytes())
    os.utime(twin, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.rename(twin, path)


CHANGES = {
    "an older file was copied over it": _cp_p,
    "its content changed and its time was put back": _same_time,
    "another file stands there": _replace,
    "it grew": lambda shell, name: (shell.root / name).write_text("longer"),
    "its mode changed": lambda shell, name: os.chmod(shell.root / name, 0o640),
    "it got a second name": lambda shell, name: os.link(shell.root / name, shell.root.parent / "second"),
    "it is gone": lambda shell, name: (shell.root / name).unlink(),
}


@pytest.mark.parametrize("name", ["source.txt", "target.txt"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_plan_is_stale_once_anything_it_touches_changed(shell, change, name):
    """F22: consent was for another state, whatever the times say."""
    shell.make({"source.txt": "A", "target.txt": "T"})
    plan = shell.plan(move("source.txt", "target.txt", on_conflict="replace"))
    change(shell, name)
    before = shell.listing()

    outcome = shell.apply(plan)

    assert (outcome.status, outcome.exit_code) == ("stale", 2)
    assert any(name in line for line in outcome.changed)
    assert difference(before, shell.listing()) == []
    assert shell.begins() == []


def test_every_change_is_listed(shell):
    shell.make({"a": "A", "b": "B", "c": "C"})
    plan = shell.plan(move("a", "x/a"), move("b", "x/b"), move("c", "x/c"))
    (shell.root / "a").write_text("longer")
    (shell.root / "b").unlink()
    (shell.root / "x").mkdir()

    changed = shell.apply(plan).changed

    assert len(changed) == 3
    assert any("1 → 6 bytes" in line for line in changed)
    assert any("is gone" in line for line in changed)
    assert any("exists now" in line for line in changed)


def test_neighbours_of_a_target_may_come_and_go(shell):
    """A folder that merely contains a target is compared as an object, not by its times."""
    shell.make({"docs/a.txt": "A"})
    plan = shell.plan(move("docs/a.txt", "docs/b.txt"))
    (shell.root / "docs/unrelated").write_text("x")

    assert shell.apply(plan).status == "applied"


def test_another_folder_under_the_name_of_the_containing_one_is_stale(shell):
    shell.make({"docs/a.txt": "A"})
    plan = shell.plan(write("docs/new.txt", "x"))
    (shell.root / "docs").rename(shell.root / "old")
    (shell.root / "docs").mkdir()

    assert shell.apply(plan).status == "stale"


@pytest.mark.parametrize(
    "step",
    [
        {"action": "fs.copy", "from": "docs", "to": "copy"},
        delete("docs"),
    ],
    ids=["copied", "deleted"],
)
def test_a_change_deep_inside_a_folder_that_is_read_or_removed_is_stale(shell, step):
    """F42: approve the deletion of a folder, then slip something into it."""
    shell.make({"docs/deep/er/a.txt": "A"})
    plan = shell.plan(step)
    (shell.root / "docs/deep/er/b.txt").write_text("slipped in")

    assert shell.apply(plan).status == "stale"


def test_a_stale_plan_stays_open_and_applies_when_all_is_as_it_was(shell):
    plan = shell.plan(write("note", "x"))
    (shell.root / "note").write_text("in the way")

    assert shell.apply(plan).status == "stale"
    (shell.root / "note").unlink()
    assert shell.apply(plan).status == "applied"


@pytest.mark.parametrize("later_s", [601, -1], ids=["too late", "the clock went back"])
def test_a_plan_is_void_outside_of_its_time(shell, monkeypatch, later_s):
    plan = shell.plan(write("note", "x"))
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + later_s * 10**9)

    outcome = shell.apply(plan)

    assert (outcome.status, outcome.exit_code) == ("expired", 2)
    assert not (shell.root / "note").exists()


def test_an_applied_plan_answers_after_its_time_too(shell, monkeypatch):
    plan = shell.plan(write("note", "x"))
    shell.apply(plan)
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + 10**13)

    assert shell.apply(plan).status == "already_applied"


@pytest.mark.parametrize(
    "plan_id",
    ["", "0", "g" * 16, "0" * 17, "../../etc/passwd", "0123456789abcde\n", "0123456789ABCDEF", "-" * 16],
)
def test_what_is_no_plan_id_never_becomes_a_path(shell, plan_id):
    with pytest.raises(UsageError, match="no plan id"):
        shell.apply(plan_id)
    assert not shell.state.exists()


def test_an_unknown_plan_is_refused_and_nothing_is_made(shell):
    with pytest.raises(NotFound):
        shell.apply("0123456789abcdef")
    assert not shell.state.exists()


def test_somebody_elses_plan_answers_like_an_unknown_one(shell, tmp_path):
    plan = shell.plan(write("note", "x"))
    other = Shell(tmp_path, owner="key:abc")

    messages = []
    for plan_id in (plan.stored.plan_id, "0123456789abcdef"):
        with pytest.raises(NotFound) as refused:
            other.apply(plan_id)
        messages.append(refused.value.message.replace(plan_id, "ID"))
    shell.apply(plan)
    with pytest.raises(NotFound) as refused:
        other.apply(plan)
    messages.append(refused.value.message.replace(plan.stored.plan_id, "ID"))

    assert len(set(messages)) == 1


def test_a_busy_state_folder_names_its_holder_and_leaves_the_plan_open(shell):
    plan = shell.plan(write("note", "x"))
    with TaskLock(shell.state / "lock").acquire(what="run something"):
        outcome = shell.apply(plan)

    assert (outcome.status, outcome.exit_code) == ("busy", 4)
    assert "run something" in outcome.message
    assert shell.apply(plan).status == "applied"


def test_a_failed_plan_is_rolled_back_and_used_up(shell):
    shell.make({"a.txt": "A"})
    before = shell.listing()
    plan = shell.plan(move("a.txt", "b.txt"), write("note", "x", **{"assert": [{"missing": "note"}]}))

    first, second = shell.apply(plan), shell.apply(plan)

    assert [first.status, second.status] == ["failed", "failed"]
    assert [first.exit_code, second.exit_code] == [1, 1]
    assert second.report.task_id == first.report.task_id
    assert second.report.error == first.report.error
    assert difference(before, shell.listing()) == []
    assert len(shell.begins()) == 1


def test_a_changed_record_is_refused(shell):
    plan = shell.plan(write("note", "x"))
    path = shell.plan_file(plan)
    path.write_bytes(path.read_bytes().replace(b'"x"', b'"y"'))

    with pytest.raises(PlanRefused, match="not as it was written"):
        shell.apply(plan)
    path.write_bytes(b"{}")
    with pytest.raises(PlanRefused, match="cannot be read"):
        shell.apply(plan)


def test_the_roots_are_checked_with_every_apply(shell):
    """CVE-2025-68145: a limit that is looked at once is none."""
    shell.make({"in/a": "A", "out/b": "B"})
    plan = shell.plan(move("out/b", "out/c"))

    with pytest.raises(Exception, match="outside the roots"):
        shell.apply(plan, within=[os.fsencode(shell.root / "in")])
    assert shell.apply(plan, within=[os.fsencode(shell.root / "out")]).status == "applied"


def test_a_folder_whose_name_only_begins_like_a_root_lies_outside(shell):
    """CVE-2025-53110: `/allowed` does not allow `/allowed_evil`."""
    shell.make({"allowed/a": "A", "allowed_evil/b": "B"})
    plan = shell.plan(move("allowed_evil/b", "allowed_evil/c"))

    with pytest.raises(Exception, match="outside the roots"):
        shell.apply(plan, within=[os.fsencode(shell.root / "allowed")])


def test_there_is_no_plan_of_nothing(shell):
    prepared = shell.prepare(
        {"action": "fs.move", "for_each": {"files": "*.none"}, "from": "{file.path}", "to": "x/"}
    )

    with pytest.raises(PlanRefused, match="nothing to do"):
        shell.app().plan(prepared, cwd=shell.root)
    assert not shell.state.exists()


def test_a_preview_stores_nothing(shell):
    shell.prepare(write("note", "x")).report()

    assert not shell.state.exists()
