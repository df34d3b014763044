"""What every kind of action promises, tried on every kind that the registry finds, with all its examples.

A new kind is tested here without a line being changed; only what is special about it needs tests of its own.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from deskshell import registry
from deskshell.errors import Conflict, ManifestError
from deskshell.kernel.action import Action, Example, Reversibility
from deskshell.kernel.capability import FS_DELETE, FS_WRITE, PathTarget, Scope
from deskshell.kernel.view import View
from tests.contract.harness import Cut, World, context, cut_at
from tests.support.listing import difference

NewWorld: TypeAlias = Callable[[], World]
CASES = [
    pytest.param(kind, example, id=f"{name}: {example.name}")
    for name, kind in registry.kinds().items()
    for example in kind.examples()
]
EXACT = [case for case in CASES if case.values[0].reversibility is Reversibility.EXACT]  # type: ignore[union-attr]
FINAL = [case for case in CASES if case not in EXACT]
KINDS = [pytest.param(kind, id=name) for name, kind in registry.kinds().items()]

each_case = pytest.mark.parametrize("kind, example", CASES)
each_exact_case = pytest.mark.parametrize("kind, example", EXACT)
each_final_case = pytest.mark.parametrize("kind, example", FINAL)
each_kind = pytest.mark.parametrize("kind", KINDS)


def filled(new_world: NewWorld, kind: type[Action], example: Example) -> tuple[World, Action]:
    """A world with the example's files, and its action."""
    world = new_world()
    world.fill(example)
    return world, world.build(kind, example)


def prepared_or_skipped(world: World, action: Action) -> object:
    """The prior; where a layout does not allow the action at all, it must have refused without a trace."""
    before = world.listing()
    refusal = ""
    try:
        return world.prepare(action)
    except Conflict as exc:
        refusal = exc.message
    assert difference(before, world.listing(temporaries=False)) == []
    assert "hard links" in refusal
    pytest.skip("refused on this layout: a copy would part hard links")


# --- looking ------------------------------------------------------------------------------------------------------


@each_case
def test_prepare_changes_nothing_but_temporaries_where_it_said(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """The kernel records where temporaries will be before the first is made, or a crash would leave them."""
    world, action = filled(new_world, kind, example)
    before = world.listing()

    with world.recorded() as ground:
        said = set(action.staged_in(ground))
        assert ground.changed == []
        assert difference(before, world.listing()) == []
        try:
            action.prepare(context(ground))
        except Conflict:
            pass
        made_in = ground.staged_in()

    assert difference(before, world.listing(temporaries=False)) == []
    assert made_in <= said


@each_case
def test_needs_cover_every_path_that_is_changed_or_read(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """A grant means nothing if an action can reach what it did not ask for (I10)."""
    world, action = filled(new_world, kind, example)
    scopes = [
        (need.capability, Scope(need.target.path, ""))
        for need in action.needs()
        if isinstance(need.target, PathTarget)
    ]

    with world.recorded() as ground:
        changed, read = set(), set()
        try:
            prior = action.prepare(context(ground))
            read = ground.theirs(ground.read_from)
            if kind.reversibility is Reversibility.EXACT:
                action.do(context(ground), prior)
                action.undo(context(ground), prior)
        except Conflict:
            pytest.skip("refused on this layout")
        changed = ground.theirs(ground.changed)

    writable = [scope for capability, scope in scopes if capability in (FS_WRITE, FS_DELETE)]
    assert [path for path in changed if not any(PathTarget(path).within(scope) for scope in writable)] == []
    readable = [scope for _, scope in scopes]
    assert [path for path in read if not any(PathTarget(path).within(scope) for scope in readable)] == []
    assert changed <= set(action.touches())


@each_case
def test_the_view_says_what_do_leaves(new_world: NewWorld, kind: type[Action], example: Example) -> None:
    """A preview that differs from the run is worse than none."""
    world, action = filled(new_world, kind, example)
    view = View()
    action = action.settled(view)
    action.simulate(view, "step")
    planned = {path: getattr(view.look(path), "kind", None) for path in action.touches()}

    if kind.reversibility is Reversibility.EXACT:
        prior = prepared_or_skipped(world, action)
        world.do(action, prior)
    with world.recorded() as ground:
        found = {path: getattr(ground.look(path), "kind", None) for path in action.touches()}

    assert planned == found


@each_case
def test_a_kind_says_what_its_target_is(new_world: NewWorld, kind: type[Action], example: Example) -> None:
    """Trees and counts of files go by it, and name no kind."""
    _, action = filled(new_world, kind, example)
    view = View()
    action = action.settled(view)
    target = action.target()
    assert kind.makes in ("file", "folder", "same", "")
    assert isinstance(target, bytes) == (kind.makes != "")
    if not isinstance(target, bytes) or kind.makes == "same":
        return
    was_free = view.look(target) is None

    action.simulate(view, "step")

    if kind.makes == "folder" or was_free:
        assert (getattr(view.look(target), "kind", None) == "folder") == (kind.makes == "folder")


# --- acting and taking back ---------------------------------------------------------------------------------------


@each_exact_case
def test_do_then_undo_restores_the_listing(new_world: NewWorld, kind: type[Action], example: Example) -> None:
    """Paths, types, bytes, modes, owners, times, attributes, link groups: all of it, without leftovers (I6)."""
    world, action = filled(new_world, kind, example)
    before = world.listing()
    prior = prepared_or_skipped(world, action)
    world.do(action, prior)
    after = world.listing()

    anything = world.undo(action, prior)

    assert difference(before, world.listing()) == []
    assert anything == bool(prior.effects)
    assert not [name for name in after if ".deskshell-" in name]
    assert kind.kind == "noop" or difference(before, after) != []


@each_exact_case
def test_undo_may_run_twice(new_world: NewWorld, kind: type[Action], example: Example) -> None:
    """Recovery may itself be interrupted, and starts again from the journal (I9)."""
    world, action = filled(new_world, kind, example)
    before = world.listing()
    prior = prepared_or_skipped(world, action)
    world.do(action, prior)

    world.undo(action, prior)
    world.undo(action, prior)

    assert difference(before, world.listing()) == []


@each_exact_case
def test_undo_without_do_only_clears_what_was_staged(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """A crash between the intent and the act leaves an intent for what never happened."""
    world, action = filled(new_world, kind, example)
    before = world.listing()
    prior = prepared_or_skipped(world, action)

    anything = world.undo(action, prior)

    assert not anything
    assert difference(before, world.listing()) == []


@each_exact_case
def test_undo_takes_back_a_do_that_was_cut_anywhere(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """Before and after each change in turn, as a kill would (I1, I9)."""
    for count, after in _places():
        world, action = filled(new_world, kind, example)
        before = world.listing()
        prior = prepared_or_skipped(world, action)
        with cut_at(count, after=after) as came:
            _until_cut(world.do, action, prior)
        if not came():
            return

        world.undo(action, prior)

        assert difference(before, world.listing()) == [], f"cut at change {count}, after it: {after}"
    pytest.fail("the action made no end of changes")


@each_exact_case
def test_an_undo_that_was_cut_anywhere_can_be_run_again(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """The same for the way back."""
    for count, after in _places():
        world, action = filled(new_world, kind, example)
        before = world.listing()
        prior = prepared_or_skipped(world, action)
        world.do(action, prior)
        with cut_at(count, after=after) as came:
            _until_cut(world.undo, action, prior)
        if not came():
            return

        world.undo(action, prior)

        assert difference(before, world.listing()) == [], f"cut at change {count}, after it: {after}"
    pytest.fail("the undo made no end of changes")


def _places() -> Iterator[tuple[int, bool]]:
    for count in range(40):
        yield count, False
        yield count, True


def _until_cut(verb: Callable[..., object], *args: object) -> None:
    try:
        verb(*args)
    except Cut:
        pass


@each_final_case
def test_what_cannot_be_undone_says_so_and_never_claims_success(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """An undo that quietly does nothing would be reported as taken back."""
    world, action = filled(new_world, kind, example)
    prior = world.prepare(action)

    with pytest.raises(Conflict) as refusal:
        world.undo(action, prior)

    assert refusal.value.verdict == "no-undo"
    assert prior.effects == ()
    assert kind.alone


# --- values -------------------------------------------------------------------------------------------------------


@each_case
def test_an_action_comes_back_from_a_stored_plan_as_it_was(
    new_world: NewWorld, kind: type[Action], example: Example
) -> None:
    """Names that are not UTF-8 included; the text is strict JSON, without lone surrogates."""
    _, action = filled(new_world, kind, example)

    text = json.dumps(action.to_json(), ensure_ascii=False, allow_nan=False).encode("utf-8")

    assert kind.from_json(json.loads(text)) == action


@each_case
def test_a_summary_is_one_short_line(new_world: NewWorld, kind: type[Action], example: Example) -> None:
    """Whatever a file is called, it cannot forge a line of a preview or a log."""
    _, action = filled(new_world, kind, example)

    assert action.summary().isprintable()
    assert 0 < len(action.summary()) < 200


@each_kind
def test_a_kind_describes_its_parameters(kind: type[Action]) -> None:
    """Schema, README and completion are made from them."""
    names = [param.name for param in (*kind.params, *kind.planned)]

    assert len(set(names)) == len(names)
    assert all(param.help for param in kind.params)
    assert kind.__doc__
    assert not kind.conflict_param or kind.conflict_param in names
    assert set(kind.on_conflict) <= {"refuse", "skip", "number", "replace"}
    assert ("number" in kind.on_conflict) == ("more" in names)
    assert ("replace" in kind.on_conflict) == ("replace" in names)


@each_kind
def test_a_kind_refuses_what_it_does_not_know(kind: type[Action]) -> None:
    """A misspelt key must not be dropped in silence."""
    with pytest.raises(ManifestError, match="takes no `surprise`"):
        kind.build({"surprise": 1})


@each_kind
def test_a_kind_has_examples_of_the_cases_that_break_tools(kind: type[Action]) -> None:
    """The suite is as good as the examples: names that are no text, and targets that are taken."""
    examples = list(kind.examples())
    words = json.dumps([[dict(example.args), list(example.files)] for example in examples])
    takes_paths = any(param.type == "path" for param in kind.params)

    assert examples
    assert len({example.name for example in examples}) == len(examples)
    assert not takes_paths or "\\udc" in words
    for param in kind.planned:
        if param.name in ("replace", "more"):
            assert any(example.args.get(param.name) for example in examples), param.name
    if takes_paths and "replace" in kind.on_conflict:
        assert len([example for example in examples if example.args.get("replace")]) >= 2


def test_the_suite_sees_every_kind() -> None:
    """No kind escapes by being left out of the lists above."""
    kinds = {kind for case in itertools.chain(EXACT, FINAL) for kind in case.values[:1]}

    assert kinds == set(registry.kinds().values())
