"""Where skills are found, and what a new one is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from deskshell.errors import ManifestError, NotFound, UsageError
from deskshell.skills import check, library, skill_text

SMALL = 'name = "{name}"\nversion = "2"\nsummary = "s"\n[[steps]]\naction = "noop"\n'


def make(folder: Path, name: str, text: str = SMALL) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "skill.toml").write_text(text.replace("{name}", name))
    return place


def find(name: str, folder: Path, kinds, cwd: Path | None = None):
    return library.find(name, folder, kinds, cwd=cwd)


def test_a_name_is_found_in_the_users_folder_and_among_the_shipped(tmp_path, kinds):
    make(tmp_path, "mine")
    assert find("mine", tmp_path, kinds).version == "2"
    assert find("photo-sort", tmp_path, kinds).shipped


def test_a_name_found_twice_is_refused_with_both_places(tmp_path, kinds):
    make(tmp_path, "photo-sort")
    with pytest.raises(UsageError, match=r"twice: `.*photo-sort` and `.*photo-sort`"):
        find("photo-sort", tmp_path, kinds)


def test_a_bare_name_is_never_looked_up_in_the_working_directory(tmp_path, kinds):
    """A folder that was downloaded must not run because of its name."""
    make(tmp_path / "cwd", "mine")
    with pytest.raises(NotFound) as refused:
        find("mine", tmp_path / "none", kinds, tmp_path / "cwd")
    assert refused.value.hint == "a folder is named by a path: ./mine"


@pytest.mark.parametrize("name", ["./mine", "../cwd/mine", "mine/", "./mine/skill.toml"])
def test_a_path_is_relative_to_the_working_directory(tmp_path, kinds, name):
    place = make(tmp_path / "cwd", "mine")
    assert find(name, tmp_path / "none", kinds, tmp_path / "cwd").folder == place


def test_a_name_that_is_not_there_has_a_suggestion(tmp_path, kinds):
    with pytest.raises(NotFound, match=r"no skill `photosort` \(did you mean `photo-sort`\?\)"):
        find("photosort", tmp_path, kinds)


def test_a_broken_skill_does_not_hide_the_others(tmp_path, kinds):
    make(tmp_path, "broken", "name = ")
    listed = {skill.name: skill.to_json() for skill in library.all_skills(tmp_path, kinds)}
    assert listed["broken"]["summary"].startswith("cannot be read: ")
    assert listed["photo-sort"]["version"] == "1.0.0"


def test_the_name_in_the_manifest_is_that_of_the_folder(tmp_path, kinds):
    make(tmp_path, "one", SMALL.replace("{name}", "two"))
    with pytest.raises(ManifestError, match="`name` is `two`, but its folder is called `one`"):
        _ = find("one", tmp_path, kinds).manifest


def test_a_new_skill_works_as_it_is(tmp_path, kinds):
    place = library.new("tidy-scans", tmp_path)
    assert sorted(path.name for path in place.iterdir()) == ["SKILL.md", "fixture.toml", "skill.toml"]
    assert check.check_skill(find("tidy-scans", tmp_path, kinds), kinds=kinds, home=tmp_path) == []


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a--b", "a/b", "..", "x" * 65])
def test_a_name_that_agents_would_not_accept_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        library.new(name, tmp_path)


def test_a_new_skill_never_overwrites(tmp_path):
    library.new("a", tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        library.new("a", tmp_path)


@pytest.mark.parametrize("name", sorted(path.name for path in library.shipped_folder().iterdir()))
def test_shipped_skills_are_valid_agent_skills(name, kinds):
    skill = library.Skill(name, library.shipped_folder() / name, kinds, shipped=True)
    assert list(skill_text.problems(skill_text.read(skill.text), name)) == []


@pytest.mark.parametrize("name", sorted(path.name for path in library.shipped_folder().iterdir()))
def test_shipped_skills_have_nothing_to_mend_but_what_they_are_about(name, kinds, tmp_path):
    skill = library.Skill(name, library.shipped_folder() / name, kinds, shipped=True)
    found = [finding.text for finding in check.check_skill(skill, kinds=kinds, home=tmp_path)]
    assert found == (["step 1 (`submit`) cannot be undone"] if name == "submit-form" else [])


# SKILL.md


def test_a_head_with_folded_and_nested_values_is_read():
    text = skill_text.read(
        "---\nname: a\ndescription: >\n  one\n  two\nmetadata:\n  author: 'me'\n# note\n---\n\nprose\n"
    )
    assert text.head == {"name": "a", "description": "one two", "metadata": {"author": "me"}}
    assert text.body == "prose\n"
    assert list(skill_text.problems(text, "a")) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: a\n", "does not begin with"),
        ("---\nname: a\n", "is not closed"),
        ("---\nname: b\ndescription: d\n---\nx\n", "`name` is `b`, not `a`"),
        ("---\nname: a\n---\nx\n", "`description` is missing"),
        ("---\nname: a\ndescription: " + "d" * 1025 + "\n---\nx\n", "has 1025 characters"),
        ("---\nname: a\ndescription: d\n---\n", "no text below"),
        ("---\nname: a\ndescription: d\nauthor: me\n---\nx\n", "key `author`"),
        ("---\nname: a\ndescription: d\n- x\n---\nx\n", "no `key: value`"),
    ],
)
def test_what_is_wrong_with_a_skill_md_is_said(text, problem):
    assert any(problem in each for each in skill_text.problems(skill_text.read(text), "a"))


# check


CHECKED = """\
name = "x"
version = "1"
summary = "s"
[params.folder]
type = "path"
default = "{default}"
[params.token]
type = "secret"
[[capabilities]]
name = "fs.read"
scope = ["{{folder}}"]
reason = "r"
[[capabilities]]
name = "fs.write"
scope = ["{scope}"]
reason = "w"
[[steps]]
{step}
"""

MOVE_ALL = 'for_each = { files = "{folder}/*" }\naction = "fs.move"\nfrom = "{file.path}"\nto = "{folder}/all/{file.category}"'
WRITE = 'action = "fs.write"\npath = "{folder}/note"\ntext = "x"'

WORLD = '[params]\nfolder = "{root}/d"\n[[files]]\npath = "d/a.txt"\ntext = "1"\n[[files]]\npath = "d/b.txt"\ntext = "2"\n'


def findings(tmp_path, kinds, step, *, default="./d", scope="{folder}", world=WORLD):
    place = tmp_path / "x"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "skill.toml").write_text(CHECKED.format(default=default, scope=scope, step=step))
    (place / "fixture.toml").write_text(world)
    (place / "SKILL.md").write_text("---\nname: x\ndescription: d\n---\ntext\n")
    skill = library.Skill("x", place, kinds)
    return [(each.level, each.text) for each in check.check_skill(skill, kinds=kinds, home=Path("/home/me"))]


def test_targets_that_collide_on_the_fixture_are_found(tmp_path, kinds):
    ((level, text),) = findings(tmp_path, kinds, MOVE_ALL)
    assert level == "error"
    assert "`all/documents`" not in text
    assert "exists already (a file, put there by step `move:a.txt`)" in text


def test_a_capability_that_is_missing_or_not_used_is_found(tmp_path, kinds):
    assert findings(tmp_path, kinds, WRITE) == [
        ("warning", "`fs.read` is declared and not used on the fixture")
    ]
    ((level, text),) = findings(tmp_path, kinds, 'action = "fs.delete"\npath = "{folder}/a.txt"')
    assert level == "error"
    assert "needs `fs.delete`" in text


@pytest.mark.parametrize("wide", ["/", "~", "/home", "/etc/", "~/../me"])
def test_a_scope_that_is_too_wide_is_found(tmp_path, kinds, wide):
    found = findings(tmp_path, kinds, WRITE, default=wide)
    assert ("warning", "the scope `{folder}` of `fs.write` is very wide") in found
    found = findings(tmp_path, kinds, WRITE, scope=wide)
    assert ("warning", f"the scope `{wide}` of `fs.write` is very wide") in found


def test_a_step_that_cannot_be_undone_and_is_not_last_is_found(tmp_path, kinds):
    steps = WRITE + '\nundo = "none"\n[[steps]]\n' + MOVE_ALL.replace("/all/{file.category}", "/all/")
    found = findings(tmp_path, kinds, steps)
    assert ("warning", "step 1 (`fs.write`) cannot be undone") in found
    assert ("warning", "a step that cannot be undone is not the last one") in found


def test_a_secret_in_a_path_is_found(tmp_path, kinds):
    found = findings(tmp_path, kinds, WRITE.replace("note", "{token}"))
    assert any(level == "error" and "secret `secret`" in text for level, text in found)


def test_a_fixture_on_which_nothing_happens_is_found(tmp_path, kinds):
    step = MOVE_ALL.replace("*", "*.none")
    assert findings(tmp_path, kinds, step) == [("warning", "on its fixture it does nothing")]
