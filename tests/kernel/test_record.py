"""The two lines of a step are put together as text, and say what the objects would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deskshell.files.identity import KINDS, Identity, to_json, to_text
from deskshell.kernel import record
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap

NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)
TIMES = st.integers(min_value=-(2**62), max_value=2**62)
IDENTITIES = st.builds(Identity, st.sampled_from(KINDS), NUMBERS, TIMES, NUMBERS, TIMES, TIMES)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
NAMES = st.binary(min_size=1, max_size=12) | TEXTS.map(lambda text: text.encode())
PATHS = st.builds(bytes.__add__, st.sampled_from((b"/", b"/home/", b"held:task-1/", b"kept:task-1/")), NAMES)
MARKS = st.none() | st.just("l:0a@kept:task-1/0.tree") | st.just("00ff")
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(Move, PATHS, PATHS, IDENTITIES, st.just(False)),
    st.builds(Move, PATHS, PATHS, IDENTITIES, st.booleans(), MARKS, st.booleans()),
    st.builds(Swap, PATHS, PATHS, IDENTITIES, IDENTITIES, MARKS, MARKS),
    st.builds(Drop, PATHS, IDENTITIES, PATHS, PATHS, st.just("00ff")),
    st.builds(Mode, PATHS, IDENTITIES, st.integers(0, 0o7777), st.integers(0, 0o7777)),
)
EXTRA = st.dictionaries(
    st.sampled_from(("facts", "args", "summary", "by", "outcome")),
    st.none() | TEXTS | NUMBERS | st.lists(TEXTS),
)


def line(value: Mapping[str, Any]) -> str:
    """`value` as the journal has always had it, without its closing brace."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))[:-1]


def head(n: int, action_id: str) -> dict[str, Any]:
    return {"ts": 7, "taskId": "task-1", "n": n, "actionId": action_id, "kind": "fs.move"}


@given(IDENTITIES)
def test_an_identity_as_text(value: Identity) -> None:
    assert json.loads(to_text(value)) == to_json(value)


@given(
    st.integers(-5, 10**6),
    TEXTS,
    st.lists(EFFECTS, max_size=3),
    st.booleans(),
    st.none() | TEXTS,
    EXTRA.filter(lambda extra: "summary" not in extra),
)
def test_an_intent_is_the_object_that_it_stands_for(
    n: int,
    action_id: str,
    effects: Sequence[Effect],
    reversible: bool,
    summary: str | None,
    extra: Mapping[str, Any],
) -> None:
    expected = head(n, action_id) | {"status": "intent", "fx": [each.to_json() for each in effects]}
    expected |= {} if reversible else {"irreversible": True}
    expected |= {} if summary is None else {"summary": summary}

    found = record.intent(
        7, "task-1", n, action_id, "fs.move", effects, reversible=reversible, summary=summary, extra=extra
    )

    assert found == line(expected | extra)
    assert record.read_effects(json.loads(found + "}")) == tuple(effects)


@given(
    st.integers(-5, 10**6),
    TEXTS,
    st.none() | st.lists(EFFECTS, max_size=3),
    MARKS,
    st.none() | TIMES,
    EXTRA.filter(lambda extra: "summary" not in extra),
)
def test_a_result_is_the_object_that_it_stands_for(
    n: int,
    words: str,
    effects: Sequence[Effect] | None,
    sha256: str | None,
    ctime_ns: int | None,
    extra: Mapping[str, Any],
) -> None:
    undo = None if effects is None else record.undo_text(effects)
    expected = head(n, words) | {"summary": words, "status": "ok"}
    expected["undo"] = None if effects is None else undo_form(effects)
    expected |= {"irreversible": True} if effects is None else {}
    expected |= {"sha256": sha256} if sha256 else {}
    expected |= {} if ctime_ns is None else {"ctime": ctime_ns}

    found = record.result(
        7, "task-1", n, words, "fs.move", words, undo, sha256=sha256, ctime_ns=ctime_ns, extra=extra
    )

    assert found == line(expected | extra)


def undo_form(effects: Sequence[Effect]) -> dict[str, Any]:
    parts = [record._undo_of(each) for each in reversed(effects)]
    if not parts:
        return {"kind": "noop"}
    return parts[0] if len(parts) == 1 else {"kind": "steps", "steps": parts}
