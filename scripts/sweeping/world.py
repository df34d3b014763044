"""One point of the sweep: set up the world, run the command under test, recover, and judge.

    python -m scripts.sweeping.world setup|run|recover|check SHAPE        (in the sandbox folder)

The judge compares the tree with the one before or after, names, bytes, modes, times and stray files
included, **and what was reported with what is on disk**.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.sweeping import server  # noqa: E402
from scripts.sweeping.shapes import Shape, find  # noqa: E402  # the folder above is not installed
from tests.support.listing import Entry, listing  # noqa: E402

OLD_NS = 1_600_000_000_123_456_789
_MANIFEST = """name = "{name}"
version = "1.0.0"
summary = "swept"

[params.folder]
type = "path"
default = "w"
help = "the world"

[params.other]
type = "path"
default = "w"
help = "a folder on another file system"

[[capabilities]]
name = "fs.read"
scope = ["{{folder}}", "{{other}}"]
reason = "read"

[[capabilities]]
name = "fs.write"
scope = ["{{folder}}", "{{other}}"]
reason = "write"

[[capabilities]]
name = "fs.delete"
scope = ["{{folder}}"]
reason = "delete"

{steps}"""
_OTHER_STEPS = '[[steps]]\nid = "other"\naction = "fs.write"\npath = "{folder}/other.txt"\ntext = "other"\n'


def other_folder(box: Path) -> Path:
    """The folder on another file system that belongs to this sandbox."""
    base = os.environ.get("CROSS_DEVICE", "/dev/shm")
    return Path(base) / ("deskshell-sweep-" + box.parent.name)


def environment(shape: Shape, box: Path) -> dict[str, str]:
    """The environment of every command in the sandbox."""
    return {
        **os.environ,
        **shape.env,
        "DESKSHELL_HOME": str((other_folder(box) if shape.apart else box) / "state"),
        "HOME": str(box / "home"),
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
    }


def arguments(shape: Shape, box: Path, text: str) -> list[str]:
    """The arguments that `text`, a `deskshell …` line with the sandbox's names open, gives to deskshell."""
    names = {"skill": "./skills/swept", "other_skill": "./skills/other"}
    if shape.cross_device:
        names["skill"] += f" --set other={shlex.quote(str(other_folder(box)))}"
    if "{plan}" in text:
        names["plan"] = json.loads((box / "plan.json").read_text())["planId"]
    return shlex.split(text.format(**names))[1:]


def program() -> list[str]:
    """The command under test; in every command of a point, so that the recovery has a planted fault, too."""
    if planted := os.environ.get("SWEEP_PLANT"):
        return [sys.executable, str(ROOT / "scripts/sweeping/planted.py"), planted]
    return [sys.executable, "-m", "deskshell"]


def deskshell(shape: Shape, box: Path, text: str, out: str = os.devnull) -> tuple[int, str]:
    """Run a `deskshell …` line undisturbed, with its output in the file `out`. Returns its status and what it said."""
    said = box.parent / "said"
    with open(out, "wb") as to, open(said, "wb") as err:
        status = server.deskshell(
            program(), arguments(shape, box, text), box, environment(shape, box), to.fileno(), err.fileno()
        )
    return status, said.read_text(errors="replace")


def setup(shape: Shape, box: Path) -> None:
    """Build the world and run what comes before, undisturbed; note both trees."""
    (box / "home").mkdir()
    _build(shape, box / "w")
    if shape.cross_device:
        shutil.rmtree(other_folder(box), ignore_errors=True)
        other_folder(box).mkdir()
    for name, steps in (("swept", shape.steps), ("other", _OTHER_STEPS)):
        folder = box / "skills" / name
        folder.mkdir(parents=True)
        (folder / "skill.toml").write_text(_MANIFEST.format(name=name, steps=steps))
    _note(box, "start.json")
    for text in shape.first:
        line, _, out = text.partition(" > ")
        status, said = deskshell(shape, box, line, str(box / out) if out else os.devnull)
        if status:
            raise SystemExit(f"{text} ended with {status}: {said}")
    if shape.edit:
        (box / "w" / shape.edit).write_text("edited by hand\n")
    _note(box, "before.json")


def _build(shape: Shape, top: Path) -> None:
    top.mkdir()
    for name, what in shape.files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(what, tuple):
            path.symlink_to(what[1])
        else:
            path.write_text(what)
            path.chmod(0o640)
    for folder, _, files in os.walk(top, topdown=False):
        for name in files:
            os.utime(os.path.join(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)
        os.utime(folder, ns=(OLD_NS, OLD_NS + 1))


def _tree(box: Path) -> dict[str, Any]:
    tops = {"w": box / "w", "other": other_folder(box)}
    return {
        f"{label}/{name}": _plain(entry)
        for label, top in tops.items()
        if top.exists()
        for name, entry in listing(top).items()
        if (label, name) != ("other", ".") and (label, name.partition("/")[0]) != ("other", "state")
    }


def _plain(entry: Entry) -> list[Any]:
    return [entry.type, entry.mode, entry.mtime_ns, entry.size, entry.sha256, entry.target, list(entry.links)]


def _note(box: Path, name: str) -> None:
    (box / name).write_text(json.dumps(_tree(box)))


def _read(box: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((box / name).read_text())
    return found


def without_new_times(tree: dict[str, Any]) -> dict[str, Any]:
    """`tree` without the times of folders and of what tasks made: those depend on when they ran."""
    return {
        name: [*entry[:2], entry[2] if entry[2] == OLD_NS else 0, *entry[3:]] for name, entry in tree.items()
    }


def problem(shape: Shape, box: Path) -> str | None:
    """None when tree, report and journal are as they must be; else what is wrong."""
    now, before = _tree(box), _read(box, "before.json")
    stray = [name for name in now if ".deskshell-" in name]
    if stray:
        return f"stray files: {stray}"
    journal = _answer(shape, box, "deskshell journal verify --json")
    if not journal.get("ok", True):
        return f"journal damaged: {journal}"
    at_claim = _read(box, "claimed.json") if (box / "claimed.json").exists() else now
    now, at_claim = _but_for_said(box, now, before), _but_for_said(box, at_claim, before)
    is_before = now == before
    is_after = _is_after(shape, box, now, before)
    status = _final_status(shape, box)
    claimed = _claim()
    if not is_before and not is_after:
        return f"neither before nor after (run said {claimed}, journal says {status}): {_difference(before, now)}"
    if status == "open":
        return "a task is still open after recovery"
    if claimed == "ok" and not is_after:
        return f"reported ok, but the tree is as before (journal: {status})"
    if claimed == "rolled-back" and (not is_before or at_claim != before):
        return f"reported rolled back, but the tree was not as before: {_difference(before, at_claim)}"
    if status == "incomplete" and is_before:
        return "the journal says that something is left, but the tree is as before"
    if status == "ok" and not is_after:
        return "the journal says ok, but the tree is as before"
    if status == "rolled-back" and not is_before:
        return "the journal says rolled back, but the tree is not as before"
    return None


def _but_for_said(box: Path, tree: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """`tree` with the earlier times of folders of which the report says that their time is not restored."""
    said = "\n".join(_report().get("notRestored") or [])
    found = dict(tree)
    for name, entry in tree.items():
        old, path = before.get(name), box / name.removesuffix("/.")
        alike = old is not None and [*entry[:2], 0, *entry[3:]] == [*old[:2], 0, *old[3:]]
        if alike and entry[0] == "folder" and f"folder time of `{path}`" in said:
            found[name] = old
    return found


def _is_after(shape: Shape, box: Path, now: dict[str, Any], before: dict[str, Any]) -> bool:
    if shape.fails or shape.run.startswith("deskshell gc"):
        return now == before
    if "undo" in shape.run:
        start = _read(box, "start.json")
        if shape.edit:
            return without_new_times(now) == without_new_times(start)
        return now == start
    expected = json.loads(Path(os.environ["SWEEP_AFTER"]).read_text())
    return without_new_times(now) == without_new_times(expected)


def _report() -> dict[str, Any]:
    """What the command under test printed as JSON; nothing when it was killed."""
    out = Path(os.environ.get("SWEEP_OUT", os.devnull))
    try:
        report: dict[str, Any] = json.loads(out.read_text() or "{}")
    except (OSError, ValueError):
        return {}
    return report


def _claim() -> str:
    report = _report()
    if "tasks" in report:
        if report.get("status") != "ok" or not report["tasks"]:
            return str(report.get("status", ""))
        task = report["tasks"][0]
        return "ok" if report["rolledBack"] == task["total"] and not task["notRestored"] else "partly"
    return str(report.get("status", ""))


def _final_status(shape: Shape, box: Path) -> str:
    tasks = _tasks(shape, box)
    wanted = len(shape.first)
    if shape.run.startswith("deskshell gc") or len(tasks) <= wanted - ("plan" in "".join(shape.first)):
        return "none"
    newest = tasks[0]
    status = str(newest["status"])
    return "open" if status in ("running", "recovery pending") else status


def _tasks(shape: Shape, box: Path) -> list[dict[str, Any]]:
    """The journal's tasks, newest first."""
    tasks: list[dict[str, Any]] = _answer(shape, box, "deskshell log --json").get("tasks", [])
    return tasks


def _answer(shape: Shape, box: Path, text: str) -> dict[str, Any]:
    """What a `deskshell … --json` line prints."""
    out = box.parent / "answer.json"
    _, said = deskshell(shape, box, text, str(out))
    try:
        found: dict[str, Any] = json.loads(out.read_text())
    except ValueError:
        return {"ok": False, "said": out.read_text()[-300:] + said[-300:]}
    return found


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return "; ".join(f"{name}: {old.get(name)} → {new.get(name)}" for name in names[:4])


def recover(shape: Shape, box: Path) -> None:
    """What a user does next; what an incomplete rollback left (a failing disk) is then undone."""
    if os.environ["SWEEP_MODE"] not in ("kill", "torn", "lost", "power"):
        _note(box, "claimed.json")
    deskshell(shape, box, "deskshell recover --json")
    if (
        _claim() in ("partly", "incomplete") and "run " not in shape.run
    ):  # an undo says which entries are left
        deskshell(shape, box, shape.run)
    tasks = _tasks(shape, box)
    if tasks and tasks[0]["status"] == "incomplete" and tasks[0]["role"] == "run":
        deskshell(shape, box, "deskshell undo --json")


def main(argv: list[str]) -> int:
    """Do one part of one point; see the module's docstring."""
    what, shape, box = argv[0], find(argv[1]), Path.cwd()
    if what == "setup":
        setup(shape, box)
    elif what == "run":
        line = [*program(), *arguments(shape, box, shape.run)]
        os.execve(line[0], line, environment(shape, box))
    elif what == "recover":
        recover(shape, box)
    elif what == "after":  # the tree that an undisturbed run leaves
        _note(box, argv[2])
    else:
        found = problem(shape, box)
        if shape.cross_device:
            shutil.rmtree(other_folder(box), ignore_errors=True)
        if found is not None:
            print(found, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
