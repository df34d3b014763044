"""Somebody else acts while a killed task waits for its recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.strangers.acts import ON_SOURCE, OURS, contents, lost
from tests.support.seam import Kill, seam
from tests.support.shell import Shell, Step, delete, move, write

FILES = {"t": "the content of t, as it was", "other": "o"}
TASKS: dict[str, tuple[list[Step], str]] = {
    "move": ([move("t", "u")], "u"),
    "write over": ([write("t", OURS)], "t"),
    "write": ([write("u", OURS)], "u"),
    "delete": ([delete("t")], "t"),
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ["edit", "replace", "link_out", "make_folder", "remove"])
@pytest.mark.parametrize("task", TASKS)
def test_recovery_leaves_the_work_of_others(tmp_path: Path, task: str, act: str) -> None:
    """At every change of the run: what somebody did since the kill is there after recovery, or was in the way and is named."""
    steps, name = TASKS[task]
    met = 0
    for point in range(100):
        top = tmp_path / str(point)
        (top / "outside").mkdir(parents=True)
        (top / "outside/victim").write_text("precious")
        shell = Shell.below(top)
        shell.make(FILES)
        skill = shell.skill(*steps)
        with seam(Kill(point)) as cut:
            shell("run", skill, "--mode", "apply", code=None)
        if not cut.came:
            break
        path = shell.folder / name
        is_file = path.is_file() and not path.is_symlink()
        if act in ("edit", "replace", "link_out", "make_folder", "remove") and is_file:
            ON_SOURCE[act](path, top / "outside")
        else:
            path.write_text("the work of somebody else")
        met += 1
        mine = contents(shell.folder)

        done = shell("recover", "--json", code=None)

        held = contents(shell.folder, shell.home.state / "held")
        assert lost(mine, held) == [], (point, done.out)
        assert (top / "outside/victim").read_text() == "precious"
        assert done.code in (0, 3)
        if done.code == 3:
            assert str(path) in done.out or str(shell.folder / "t") in done.out
        assert shell("recover", code=0).out == "nothing was left open\n"
        shell.run(write("later", "l"))  # writing is open again
    assert met > 10
