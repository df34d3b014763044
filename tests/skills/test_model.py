"""What `model` reads, pydantic accepts and reads alike; what it does not, pydantic refuses with a reason."""

from __future__ import annotations

import copy
import random
import tomllib
from typing import Any, get_args, get_origin

import pytest
from pydantic import ValidationError

from deskshell import registry
from deskshell.skills import explained, manifest, model
from tests.support.process import CHECKOUT

PAIRS = [
    (getattr(model, name), getattr(explained, name))
    for name in ("ParamSpec", "CapabilitySpec", "ForEach", "AssertSpec", "ActionSpec", "StepSpec", "Manifest")
]
FULL = """
name = "full"
version = "1"
summary = "every kind of table"

[params.folder]
type = "path"
help = "which"

[params.how]
type = "choice"
choices = ["a", "b"]
default = "a"

[params.key]
type = "secret"

[[capabilities]]
name = "fs.write"
scope = ["{folder}"]
reason = "to write"

[[steps]]
id = "one"
action = "fs.move"
for_each = { files = ["{folder}/*", "{folder}/x/*"], ext = "pdf", larger_than = "1MB", sort = "-mtime", limit = 3, taken = true }
on_conflict = "number"
from = "{file.path}"
to = "{folder}/done/"
assert = [{ exists = "{to}" }, { sha256 = "00", path = "{to}" }]

[[steps]]
action = "fs.write"
for_each = { rows = "{folder}/list.csv" }
path = "{folder}/{row.name}"
text = "x"
undo = { action = "noop" }
irreversible = true

[[steps]]
action = "noop"
undo = "none"
"""
VALUES: list[Any] = [
    *("", "text", "fs.read", "choice", "none", "path", "["),
    *(0, 1, -3, 2.5, True, None),
    *([], ["a"], [1], {}, {"a": 1}, {"exists": "x"}, {"files": "x"}),
]
ADDED = ["extra", "rows", "limit", "choices", "default", "count", "undo", "id"]


def prepared(text: str) -> dict[str, Any]:
    data = tomllib.loads(text)
    kinds = registry.kinds()
    data["steps"] = [
        manifest._prepare_step(step, n, kinds, "test") for n, step in enumerate(data["steps"], 1)
    ]
    return data


def manifests() -> list[dict[str, Any]]:
    shipped = sorted((CHECKOUT / "skills").glob("*/skill.toml"))
    return [prepared(FULL), *(prepared(path.read_text(encoding="utf-8")) for path in shipped)]


def theirs(data: dict[str, Any]) -> dict[str, Any] | None:
    try:
        found = explained.Manifest.model_validate(data)
    except ValidationError:
        return None
    return found.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def ours(data: dict[str, Any]) -> dict[str, Any] | None:
    found = model.read(data)
    return None if found is None else model.to_json(found)


def mutated(data: dict[str, Any], choose: random.Random) -> dict[str, Any]:
    """A copy with one value set, or one key dropped or added, somewhere."""
    data = copy.deepcopy(data)
    here: Any = data
    while True:
        inside = here.values() if isinstance(here, dict) else here
        inner = [each for each in inside if isinstance(each, (dict, list)) and each]
        if not inner or choose.random() < 0.3:
            break
        here = choose.choice(inner)
    keys: list[Any] = list(here) if isinstance(here, dict) else list(range(len(here)))
    what = choose.random()
    if what < 0.2:
        del here[choose.choice(keys)]
    elif what < 0.35 and isinstance(here, dict):
        here[choose.choice(ADDED)] = choose.choice(VALUES)
    else:
        here[choose.choice(keys)] = choose.choice(VALUES)
    return data


@pytest.mark.parametrize("n", range(len(manifests())))
def test_a_right_manifest_is_read_as_pydantic_reads_it(n: int) -> None:
    data = manifests()[n]
    assert ours(data) is not None
    assert ours(data) == theirs(data)


@pytest.mark.parametrize("seed", range(40))
def test_they_agree_on_what_is_wrong(seed: int) -> None:
    """A manifest that only one of the two takes would run unchecked, or be refused without a reason."""
    choose = random.Random(seed)
    every = manifests()
    for _ in range(40):
        data = mutated(choose.choice(every), choose)
        assert ours(data) == theirs(data), data


@pytest.mark.parametrize("mine, other", PAIRS, ids=[mine.__name__ for mine, _ in PAIRS])
def test_they_have_the_same_fields_with_the_same_defaults(mine: Any, other: Any) -> None:
    assert set(mine.__match_args__) == set(other.model_fields)
    for each in mine.__slotted__:
        field = other.model_fields[each.name]
        assert each.required == field.is_required()
        if not each.required:
            default = each.default_factory() if each.default_factory else each.default
            assert default == field.get_default(call_default_factory=True)


def test_words_that_are_allowed_are_the_same() -> None:
    annotation = explained.ForEach.model_fields["sort"].annotation
    literals = [each for each in get_args(annotation) if get_origin(each) is not None]
    assert {word for each in literals for word in get_args(each)} == set(model._SORTS)


def test_reading_keeps_nothing_of_what_it_was_given() -> None:
    """The plan's manifest cannot change under it."""
    data = prepared(FULL)
    found = model.read(data)
    assert found is not None
    data["params"]["how"]["choices"].append("c")
    assert found.params["how"].choices == ["a", "b"]
