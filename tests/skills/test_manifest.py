"""`skill.toml`: what is accepted, and one clear line for everything else."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskshell import registry
from deskshell.errors import DeskshellError, IrreversibleError, ManifestError, NotFound
from deskshell.skills import manifest

BASE = {"name": "x", "version": "1", "summary": "s", "steps": [{"action": "noop"}]}


def read(**changes):
    return manifest.from_data({**BASE, **changes}, registry.kinds(), "skill.toml")


def step(**keys):
    return read(steps=[keys])


def test_the_example_of_the_format_is_read(tmp_path):
    text = """
        name = "downloads-cleanup"
        version = "1.0.0"
        summary = "Sort"
        [params.folder]
        type = "path"
        default = "~/Downloads"
        [[capabilities]]
        name = "fs.read"
        scope = ["{folder}"]
        reason = "read"
        [[steps]]
        id = "move:{file.name}"
        for_each = { files = "{folder}/*", skip = [".*"], older_than = "1h" }
        action = "fs.move"
        from = "{file.path}"
        to = "{folder}/{file.category}/{file.name}"
        on_conflict = "number"
        assert = [{ exists = "{to}" }]
        """
    path = tmp_path / "skill.toml"
    path.write_text(text)
    found = manifest.load(os.fsencode(path), registry.kinds())
    assert found.steps[0].args == {"from": "{file.path}", "to": "{folder}/{file.category}/{file.name}"}
    assert found.steps[0].undo == "derived"
    assert found.steps[0].asserts[0].kind == "exists"


def test_json_is_the_same_model(tmp_path):
    path = tmp_path / "skill.json"
    path.write_text(json.dumps({**BASE, "steps": [{"action": "noop", "undo": None}]}))
    assert manifest.load(os.fsencode(path), registry.kinds()).steps[0].undo == "none"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stepz": []}, "skill.toml: unknown key `stepz` (did you mean `steps`?)"),
        ({"name": "X y"}, "skill.toml: `X y` is no name for `name`"),
        ({"name": "a--b"}, "skill.toml: `a--b` is no name for `name`"),
        ({"version": 1}, "skill.toml: `version` is text"),
        ({"steps": []}, "skill.toml: `steps` needs at least one entry"),
        ({"steps": "x"}, "skill.toml: `steps` is a list"),
        (
            {"params": {"a": {"type": "pth"}}},
            "skill.toml: [params.a]: `type` is one of 'path', 'text', 'int', 'bool', 'choice', 'duration' or 'secret'",
        ),
        (
            {"params": {"a": {"type": "path", "hlp": ""}}},
            "skill.toml: [params.a]: unknown key `hlp` (did you mean `help`?)",
        ),
        ({"params": {"now": {"type": "path"}}}, "skill.toml: [params.now]: this name is taken"),
        (
            {"params": {"a": {"type": "choice"}}},
            "skill.toml: [params.a]: `choices` belongs to the type `choice`, which needs it",
        ),
        (
            {"params": {"a": {"type": "secret", "default": "x"}}},
            "skill.toml: [params.a]: a secret has no default: everyone can read this file",
        ),
        (
            {"capabilities": [{"name": "fs.raed", "scope": [], "reason": "r"}]},
            "skill.toml: [[capabilities]] 1: `name` is one of 'fs.read', 'fs.write', 'fs.delete' or 'net.request'",
        ),
        (
            {"capabilities": [{"name": "fs.read", "scope": []}]},
            "skill.toml: [[capabilities]] 1: needs the key `reason`",
        ),
        (
            {"capabilities": [{"name": "fs.read", "scope": ["{x}"], "reason": "r"}]},
            "skill.toml: [[capabilities]] 1: `scope`: unknown name `x`",
        ),
    ],
)
def test_what_is_wrong_is_named_with_table_and_key(changes, message):
    with pytest.raises(ManifestError) as refused:
        read(**changes)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"from": "a", "to": "b"}, "needs the key `action`"),
        ({"action": "fs.mvoe", "from": "a", "to": "b"}, "unknown action `fs.mvoe` (did you mean `fs.move`?)"),
        ({"action": "fs.move", "form": "a", "to": "b"}, "unknown key `form` (did you mean `from`?)"),
        (
            {"action": "fs.move", "from": "a", "to": "b", "on_confict": "skip"},
            "unknown key `on_confict` (did you mean `on_conflict`?)",
        ),
        ({"action": "fs.move", "from": "a"}, "`fs.move` needs the key `to` (its new path)"),
        ({"action": "fs.move", "from": "a", "to": 1}, "`to` is text"),
        ({"action": "fs.move", "from": "a", "to": "{"}, "`to`: `{` has a single `{`"),
        (
            {"action": "fs.move", "from": "a", "to": "{file.name}"},
            "`to`: `{file.name}` needs a for_each with files, folders or paths",
        ),
        (
            {"action": "fs.chmod", "path": "a", "mode": "0644", "on_conflict": "skip"},
            "`on_conflict` of `fs.chmod` is one of `refuse`, not `skip`",
        ),
        ({"action": "noop", "undo": "non"}, '`undo` is "none", null, or a table with an action of its own'),
        ({"action": "noop", "assert": [{"exist": "x"}]}, "unknown key `exist` (did you mean `exists`?)"),
        (
            {"action": "noop", "for_each": {"files": "x", "older": "1h"}},
            "unknown key `older` (did you mean `older_than`?)",
        ),
    ],
)
def test_what_is_wrong_with_a_step_is_named(keys, message):
    with pytest.raises(ManifestError) as refused:
        step(**keys)
    assert refused.value.message.startswith("skill.toml: [[steps]] 1")
    assert refused.value.message.endswith(": " + message)


@pytest.mark.parametrize(
    ("for_each", "name", "good"),
    [
        ({"files": "a/*", "name": "(?P<year>[0-9]+)"}, "match.year", True),
        ({"files": "a/*", "name": "(?P<year>[0-9]+)"}, "match.yaer", False),
        ({"files": "a/*"}, "match.year", False),
        ({"files": "a/*"}, "n", True),
        ({"files": "a/*"}, "row.x", False),
        ({"rows": "a.csv"}, "row.any thing", True),
        ({"rows": "a.csv"}, "file.name", False),
        ({"values": ["a"]}, "value", True),
        ({"values": ["a"]}, "file.nme", False),
    ],
)
def test_names_are_known_by_what_a_step_repeats_for(for_each, name, good):
    def build():
        step(action="fs.mkdir", path="{" + name + "}", for_each=for_each)

    if good:
        build()
    else:
        with pytest.raises(ManifestError, match=r"\[\[steps\]\] 1: `path`"):
            build()


@pytest.mark.parametrize(
    "keys", [{"undo": None}, {"undo": "none"}, {"irreversible": True}, {"undo": {"action": "noop"}}]
)
def test_a_deletion_without_its_own_undo_is_always_refused(keys):
    with pytest.raises(IrreversibleError, match=r"`fs\.delete` must keep its undo"):
        step(action="fs.delete", path="a", **keys)


def test_what_is_no_toml_is_one_line(tmp_path):
    path = tmp_path / "skill.toml"
    path.write_bytes(b"name = \xff")
    with pytest.raises(ManifestError) as refused:
        manifest.load(os.fsencode(path), registry.kinds())
    assert "\n" not in refused.value.message
    path.write_text("name = \n")
    with pytest.raises(ManifestError, match="line 1"):
        manifest.load(os.fsencode(path), registry.kinds())


def test_a_fifo_as_a_manifest_is_not_waited_for(tmp_path):
    """F36."""
    os.mkfifo(tmp_path / "skill.toml")
    with pytest.raises(NotFound):
        manifest.load(os.fsencode(tmp_path / "skill.toml"), registry.kinds())


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=5)
    | st.sampled_from(["fs.move", "{file.name}", "files"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "params",
                    "steps",
                    "action",
                    "from",
                    "to",
                    "for_each",
                    "undo",
                    "assert",
                    "id",
                    "capabilities",
                    "scope",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON)
def test_whatever_an_agent_sends_is_a_manifest_or_one_line(data, steps):
    for each in (data, {**BASE, "steps": steps}, {**BASE, "steps": [steps]}, {**BASE, "capabilities": data}):
        try:
            manifest.from_data(each, registry.kinds(), "actions")
        except DeskshellError as exc:
            message = exc.message
        else:
            message = ""
        assert "\n" not in message


def test_the_schema_has_the_keys_of_every_kind():
    found = manifest.schema(registry.kinds())
    for kind, action in registry.kinds().items():
        table = found["$defs"][kind.replace(".", "_")]
        assert {param.name for param in action.params} <= table["properties"].keys()
        assert table["properties"]["action"]["const"] == kind
        assert not table["additionalProperties"]
    json.dumps(found)


def test_every_reference_of_the_schema_leads_somewhere():
    found = manifest.schema(registry.kinds())

    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            for each in value.values():
                yield from references(each)
        elif isinstance(value, list):
            for each in value:
                yield from references(each)

    assert {ref.removeprefix("#/$defs/") for ref in references(found)} <= found["$defs"].keys()
