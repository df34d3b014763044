"""`deskshell skills`: find out what a skill does, and write one."""

from __future__ import annotations

import pytest

from tests.cli.test_run import TIDY


@pytest.fixture
def own(console, home):
    """A skill of the user's own, as `skills new` writes it."""
    console("skills", "new", "tidy-scans", code=0)
    return home.user / ".config/deskshell/skills/tidy-scans"


def test_a_new_skill_passes_its_own_test(console, own, golden):
    console("skills", "test", "tidy-scans", code=0)
    console("skills", "show", "tidy-scans", code=0)
    console("skills", "new", "tidy-scans", code=2)
    console("skills", "new", "Tidy Scans", code=2)

    golden("session-skills", console.transcript)


def test_a_new_skill_has_nothing_to_be_found(console, own):
    assert console("skills", "check", "tidy-scans", code=0).out == "ok: tidy-scans\n"


def test_a_mistake_is_told_from_a_warning(console, skill):
    done = console("skills", "check", skill("tidy", TIDY))

    assert done.code == 1
    assert "error: there is no SKILL.md" in done.out
    assert "warning: " in console("skills", "check", "submit-form", code=0).out


def test_the_list_names_the_users_own_first(console, own):
    lines = console("skills", "list", code=0).out.splitlines()

    assert lines[0].split() == ["skill", "version", "what", "it", "does", "where"]
    assert lines[1].startswith("tidy-scans")
    assert lines[1].endswith("tidy-scans")


def test_a_skill_that_does_not_pass_its_test_says_what_differs(console, own):
    manifest = own / "skill.toml"
    manifest.write_text(manifest.read_text() + 'undo = "none"\n')

    done = console("skills", "test", "tidy-scans")

    assert (done.code, done.out.split()[0]) in [(1, "FAIL"), (0, "SKIP")]


@pytest.mark.parametrize(
    "command", [["list"], ["show", "tidy-scans"], ["test", "tidy-scans"], ["check", "tidy-scans"]]
)
def test_each_prints_one_json_object(console, own, command):
    assert isinstance(console("skills", *command, "--json", code=0).json, dict)


def test_show_has_the_steps_as_they_are_written(console, skill):
    shown = console("skills", "show", skill("tidy", TIDY), "--json", code=0).json["manifest"]

    assert shown["steps"][1] == {
        "id": "note",
        "action": "fs.write",
        "path": "{folder}/TIDIED.txt",
        "text": "tidied\n",
    }


def test_the_schema_is_json(console):
    assert console("skills", "schema", code=0).json["type"] == "object"


def test_a_manifest_that_cannot_be_read_is_refused_with_its_place(console, skill):
    path = skill("bad", "[[steps]]\nactoin = 'noop'\n")

    for command in (["run", path], ["skills", "check", path], ["skills", "show", path]):
        done = console(*command, code=2)
        assert "skill.toml" in done.err
        assert "hint: " in done.err


@pytest.mark.parametrize("command", [["run", "nope"], ["skills", "show", "nope"], ["skills", "test", "nope"]])
def test_an_unknown_skill_is_refused(console, command):
    assert "no skill `nope`" in console(*command, code=2).err
