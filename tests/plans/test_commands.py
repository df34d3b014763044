"""`plan`, `plans`, `approve` and `apply` as processes."""

from __future__ import annotations

import functools
import os
import pty
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.process import CHECKOUT

SKILL = """
name = "tidy"
version = "1.0.0"
summary = "put texts away"

[params.folder]
type = "path"
help = "the folder"

[[capabilities]]
name = "fs.read"
scope = ["{folder}"]
reason = "look"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "move"

[[steps]]
id = "move:{file.name}"
for_each = { files = "{folder}/*.txt" }
action = "fs.move"
from = "{file.path}"
to = "{folder}/done/{file.name}"
"""


@pytest.fixture
def skill(folder):
    """A skill at ./skills/tidy, and one like it whose steps cannot be undone."""
    for name, more in (("tidy", ""), ("final", "irreversible = true\n")):
        place = folder / "skills" / name
        place.mkdir(parents=True)
        (place / "skill.toml").write_text(SKILL.replace('"tidy"', f'"{name}"') + more)
    return "./skills/tidy"


@pytest.fixture
def work(folder):
    """A folder with one text."""
    path = folder / "work"
    path.mkdir()
    (path / "a.txt").write_text("A")
    return path


def _plan(cli, skill="./skills/tidy"):
    made = cli("plan", skill, "--set", "folder=work", "--json")
    assert made.code == 0, made.err
    return made.json


def test_plan_then_apply_then_apply_again(cli, skill, work):
    plan = _plan(cli, skill)
    assert plan["status"] == "open"
    assert plan["expiresInS"] == 600
    assert len(plan["digest"]) == 64
    assert [step["actionId"] for step in plan["steps"]] == ["move:a.txt"]
    assert plan["cwd"] == str(work.parent)

    first = cli("apply", plan["planId"], "--json")
    second = cli("apply", plan["planId"], "--json")

    assert (first.code, first.json["status"]) == (0, "applied")
    assert (second.code, second.json["status"]) == (0, "already_applied")
    assert second.json | {"status": ""} == first.json | {"status": ""}
    assert (work / "done/a.txt").read_text() == "A"
    assert cli("undo").code == 0
    assert (work / "a.txt").read_text() == "A"


def test_the_same_plan_from_any_directory(cli, skill, work, home):
    """F45: what relative paths meant is in the plan."""
    plan = _plan(cli, skill)
    done = subprocess.run(
        [sys.executable, "-m", "deskshell", "apply", plan["planId"]],
        env=home.environment(),
        cwd="/",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert (work / "done/a.txt").exists()


def test_the_text_says_how_to_go_on(cli, skill, work):
    made = cli("plan", skill, "--set", "folder=work")
    plan_id = cli("plans", "--json").json["plans"][0]["planId"]

    assert f"deskshell apply {plan_id}" in made.out
    assert "deskshell approve" not in made.out
    listed = cli("plans").out
    assert plan_id in listed
    assert "open" in listed
    assert (
        f"deskshell approve {_plan(cli, './skills/final')['planId']}"
        in cli("apply", cli("plans", "--json").json["plans"][0]["planId"]).err
    )


def test_a_plan_of_nothing_is_not_stored(cli, skill, work):
    (work / "a.txt").unlink()

    made = cli("plan", skill, "--set", "folder=work", "--json")

    assert (made.code, made.json["planId"], made.json["steps"]) == (0, None, [])
    assert "nothing to do" in cli("plan", skill, "--set", "folder=work").out
    assert cli("plans", "--json").json == {"plans": []}


def test_exit_codes_of_apply(cli, skill, work):
    unknown = cli("apply", "0123456789abcdef", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "not-found")
    assert cli("apply", "nonsense").code == 2

    stale = _plan(cli)
    (work / "a.txt").write_text("changed")
    refused = cli("apply", stale["planId"], "--json")
    assert (refused.code, refused.json["status"]) == (2, "stale")
    assert "a.txt" in refused.json["changed"][0]
    assert "stale" in cli("apply", stale["planId"]).err

    final = _plan(cli, "./skills/final")
    agreed = cli("apply", final["planId"], "--json")
    assert (agreed.code, agreed.json["error"]["code"]) == (2, "irreversible")
    assert cli("apply", final["planId"], "--allow-irreversible").code == 0


def test_the_ttl_comes_from_the_environment(home, cli, skill, work):
    made = cli("plan", skill, "--set", "folder=work", "--json", env={"DESKSHELL_PLAN_TTL": "7s"})
    assert made.json["expiresInS"] == 7


def test_twelve_processes_apply_one_plan_once(cli, skill, work):
    for n in range(30):
        (work / f"{n}.txt").write_text(str(n))
    plan = _plan(cli, skill)

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda _: cli("apply", plan["planId"], "--json"), range(12)))

    statuses = sorted(each.json["status"] for each in done)
    assert statuses.count("applied") == 1
    assert set(statuses) <= {"applied", "already_applied", "busy"}
    assert all(each.code == (4 if each.json["status"] == "busy" else 0) for each in done)
    assert sorted(path.name for path in (work / "done").iterdir()) == sorted(
        [f"{n}.txt" for n in range(30)] + ["a.txt"]
    )
    assert len(cli("log", "--json").json["tasks"]) == 1


# approval: a person at a terminal


@pytest.fixture
def on_terminal(home, folder):
    """A terminal of its own; see `_on_terminal`."""
    return functools.partial(_on_terminal, home, folder)


def _on_terminal(home, folder, *args, typed: bytes):
    """Run deskshell on a terminal of its own, type something, and return (exit code, what was shown)."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "deskshell", *args],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=home.environment(),
        cwd=folder,
        start_new_session=True,
    )
    os.close(follower)
    shown, sent = b"", False
    try:
        while True:
            ready, _, _ = select.select([leader], [], [], 60)
            assert ready, shown
            try:
                data = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            shown += data
            if b"or y: " in shown and not sent:
                sent = True
                os.write(leader, typed)
    finally:
        code = process.wait(60)
        os.close(leader)
    return code, shown.decode()


@pytest.mark.parametrize("answer", ["y", "digest"])
def test_a_person_at_a_terminal_approves_by_y_or_the_digest(on_terminal, cli, skill, work, answer):
    plan = _plan(cli, "./skills/final")
    typed = plan["digest"][:8] if answer == "digest" else answer

    code, shown = on_terminal("approve", plan["planId"], typed=typed.encode() + b"\n")

    assert code == 0, shown
    assert plan["digest"][:8] in shown
    assert "CANNOT BE UNDONE (1)" in shown
    assert "a.txt" in shown
    assert cli("plans", "--json").json["plans"][0]["status"] == "approved"
    assert cli("apply", plan["planId"]).code == 0


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"\x04", b"deadbeef\n", b"yep\n"])
def test_any_other_answer_approves_nothing(on_terminal, cli, skill, work, typed):
    plan = _plan(cli, "./skills/final")

    code, _ = on_terminal("approve", plan["planId"], typed=typed)

    assert code == 2
    assert cli("plans", "--json").json["plans"][0]["status"] == "open"


def test_an_answer_through_a_pipe_is_no_persons(cli, skill, work):
    plan = _plan(cli, "./skills/final")

    refused = cli("approve", plan["planId"], input="y\n")

    assert refused.code == 2
    assert "terminal" in refused.err
    assert cli("plans", "--json").json["plans"][0]["status"] == "open"


def test_a_stale_plan_is_not_offered_for_approval(on_terminal, cli, skill, work):
    plan = _plan(cli, "./skills/final")
    (work / "a.txt").write_text("changed")

    code, shown = on_terminal("approve", plan["planId"], typed=b"y\n")

    assert code == 2
    assert "stale" in shown


def test_the_policy_of_the_config_file_holds_on_the_command_line(cli, skill, work, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('irreversible = "terminal"\n')
    plan = _plan(cli, "./skills/final")

    refused = cli("apply", plan["planId"], "--allow-irreversible", env={"DESKSHELL_CONFIG": str(config)})

    assert refused.code == 2
    assert f"deskshell approve {plan['planId']}" in refused.err


@pytest.mark.parametrize("policy", ["person", "terminal"])
def test_a_stricter_policy_holds_for_run_too(cli, skill, work, tmp_path, policy):
    config = tmp_path / "config.toml"
    config.write_text(f'irreversible = "{policy}"\n')
    env = {"DESKSHELL_CONFIG": str(config)}

    for how in (["--mode", "apply", "--allow-irreversible"], ["--ask"]):
        refused = cli("run", "./skills/final", "--set", "folder=work", *how, input="y\n" * 5, env=env)
        assert (refused.code, "a person at a terminal" in refused.err) == (2, True)
    assert (work / "a.txt").exists()
    assert cli("run", skill, "--set", "folder=work", "--mode", "apply", env=env).code == 0


def test_the_commands_import_no_server():
    code = "import deskshell.cli.main, deskshell.cli.plans, deskshell.cli.serve, deskshell.cli.keys, sys; "
    code += (
        "print([name for name in ('mcp', 'starlette', 'uvicorn', 'asyncio', 'rich') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert done.stdout == "[]\n"
