"""Plans: what a manifest becomes, over the tree as its own steps will leave it."""

from __future__ import annotations

import os

import pytest

from deskshell.app import Prepared
from deskshell.errors import (
    CapabilityError,
    ManifestError,
    NotFound,
    PlanConflict,
    ScopeError,
    UsageError,
)
from tests.support.trees import make_files

MOVE = """
[[steps]]
id = "{id}"
action = "fs.move"
from = "{{folder}}/{a}"
to = "{{folder}}/{b}"
"""


def moves(*pairs: tuple[str, str]) -> str:
    return "".join(MOVE.format(id=f"{a}->{b}", a=a, b=b) for a, b in pairs)


def play(planning, plan) -> dict[str, str]:
    """Carry the planned moves out one by one with a rename that must not replace; name → content."""
    for step in plan.steps:
        assert not os.path.lexists(step.action.dst)
        os.rename(step.action.src, step.action.dst)
    return {entry.name: entry.read_text() for entry in planning.folder.iterdir()}


# moves at once


def test_two_names_can_be_swapped(planning):
    """F05: one after the other, the second file's content would be lost."""
    make_files(planning.folder, {"a": "A", "b": "B"})
    plan = planning.steps(moves(("a", "b"), ("b", "a")))
    assert planning.moves(plan) == [("a", "~"), ("b", "a"), ("~", "b")]
    assert [step.action_id for step in plan.steps] == ["a->b~hop", "b->a", "a->b"]
    assert play(planning, plan) == {"a": "B", "b": "A"}


def test_a_cycle_of_three_needs_one_hop(planning):
    make_files(planning.folder, {"a": "A", "b": "B", "c": "C"})
    plan = planning.steps(moves(("a", "b"), ("b", "c"), ("c", "a")))
    assert play(planning, plan) == {"b": "A", "c": "B", "a": "C"}
    assert len(plan.steps) == 4


def test_a_shift_starts_at_its_free_end(planning):
    make_files(planning.folder, {"f1": "1", "f2": "2", "f3": "3"})
    plan = planning.steps(moves(("f1", "f2"), ("f2", "f3"), ("f3", "f4")))
    assert planning.moves(plan) == [("f3", "f4"), ("f2", "f3"), ("f1", "f2")]


def test_a_shift_within_one_for_each(planning):
    make_files(planning.folder, {"p-1.txt": "1", "p-2.txt": "2", "a.txt": "a"})
    plan = planning.steps(
        """
        [[steps]]
        for_each = { files = "{folder}/*.txt" }
        action = "fs.move"
        from = "{file.path}"
        to = "{folder}/p-{n}.txt"
        """
    )
    assert play(planning, plan) == {"p-1.txt": "a", "p-2.txt": "1", "p-3.txt": "2"}


def test_a_chain_that_works_in_the_order_written_is_left_in_it(planning):
    """Somebody's own hop: `tmp` exists only because of the first step."""
    make_files(planning.folder, {"a": "A", "b": "B"})
    plan = planning.steps(moves(("a", "tmp"), ("b", "a"), ("tmp", "b")))
    assert planning.moves(plan) == [("a", "tmp"), ("b", "a"), ("tmp", "b")]


def test_two_moves_of_one_file_name_both_steps(planning):
    make_files(planning.folder, {"a": "A"})
    with pytest.raises(PlanConflict, match=r"a->c.*a->b"):
        planning.steps(moves(("a", "b"), ("a", "c")))


def test_two_moves_to_one_name_name_both_steps(planning):
    make_files(planning.folder, {"a": "A", "b": "B"})
    with pytest.raises(PlanConflict, match=r"b->c.*a->c"):
        planning.steps(moves(("a", "c"), ("b", "c")))


def test_a_file_outside_the_batch_is_not_overwritten(planning):
    """F06: a target that nobody mentions is somebody's file, a dangling link included."""
    for taken in ({"c": "mine"}, {"c": ("->", "nowhere")}, {"c/": None}, {"c": ""}):
        make_files(planning.folder / str(len(os.listdir(planning.folder))), {"a": "A", **taken})
    for number in range(4):
        with pytest.raises(PlanConflict, match=f"`.*/{number}/c` exists already"):
            planning.steps(moves(("a", "c")), {"folder": str(planning.folder / str(number))})


def test_a_file_that_is_in_its_place_takes_no_step(planning):
    make_files(planning.folder, {"texts/a.txt": "A", "b.txt": "B"})
    plan = planning.steps(
        """
        [[steps]]
        for_each = { files = "{folder}/**/*.txt" }
        action = "fs.move"
        from = "{file.path}"
        to = "{folder}/texts/{file.name}"
        on_conflict = "number"
        """
    )
    assert planning.moves(plan) == [("b.txt", "texts/b.txt")]
    assert plan.notes == (f"left out, already in its place: `{planning.folder}/texts/a.txt`",)


def test_a_rename_by_case_alone_of_another_file_is_refused(planning):
    """F31: on a case-sensitive disk `README.md` is a file of its own."""
    make_files(planning.folder, {"readme.md": "a", "README.md": "b"})
    with pytest.raises(PlanConflict, match="exists already"):
        planning.steps(moves(("readme.md", "README.md")))


def test_a_rename_onto_a_second_hard_link_is_refused(planning):
    """F31: the system call would do nothing and report success."""
    make_files(planning.folder, {"readme.md": "a", "README.md": ("=", "readme.md")})
    with pytest.raises(PlanConflict, match="exists already"):
        planning.steps(moves(("readme.md", "README.md")))


def test_a_folder_does_not_go_into_itself(planning):
    """F39."""
    make_files(planning.folder, {"d/x": "x"})
    with pytest.raises(PlanConflict, match="inside"):
        planning.steps(moves(("d", "d/sub/d")))


# conflicts


TIDY = """
[[steps]]
id = "move:{{file.name}}"
for_each = {{ files = "{{folder}}/**/*.txt" }}
action = "fs.move"
from = "{{file.path}}"
to = "{{folder}}/{to}"
on_conflict = "{conflict}"
"""


def test_numbers_are_reserved_within_the_plan(planning):
    make_files(planning.folder, {"1/a.txt": "1", "2/a.txt": "2", "3/a.txt": "3", "out/a (2).txt": "taken"})
    plan = planning.steps(TIDY.format(to="out/{file.name}", conflict="number"))
    assert planning.moves(plan)[:3] == [
        ("1/a.txt", "out/a.txt"),
        ("2/a.txt", "out/a (3).txt"),
        ("3/a.txt", "out/a (4).txt"),
    ]
    assert [planning.short(path) for path in plan.steps[0].action.more] == ["out/a (2).txt"]


def test_a_number_keeps_a_long_name_within_the_limit(planning):
    """F44: the stem is cut between characters, the ending stays."""
    long = "é" * 125 + ".txt"
    make_files(planning.folder, {f"1/{long}": "1", f"2/{long}": "2"})
    plan = planning.steps(TIDY.format(to="out/{file.name}", conflict="number"))
    second = os.path.basename(plan.steps[1].action.dst)
    assert len(second) <= 255
    assert second.decode().endswith("é (2).txt")


def test_skip_leaves_the_file_and_says_so(planning):
    make_files(planning.folder, {"1/a.txt": "1", "out/a.txt": "taken"})
    plan = planning.steps(TIDY.format(to="out/{file.name}", conflict="skip"))
    assert plan.steps == ()
    assert f"left out, its target exists: `{planning.folder}/out/a.txt`" in plan.notes


def test_replace_never_takes_what_the_same_rule_just_put_there(planning):
    make_files(planning.folder, {"1/a.txt": "1", "2/a.txt": "2"})
    with pytest.raises(PlanConflict, match=r"`move:a\.txt` and `move:a\.txt#2` both have the target"):
        planning.steps(TIDY.format(to="out/{file.name}", conflict="replace"))


def test_a_write_replaces_by_default_and_a_second_write_of_another_step_may_too(planning):
    make_files(planning.folder, {"note": "old"})
    plan = planning.steps(
        '[[steps]]\naction="fs.write"\npath="{folder}/note"\ntext="1"\n'
        '[[steps]]\naction="fs.write"\npath="{folder}/note"\ntext="2"\n'
    )
    assert [step.action.replace for step in plan.steps] == [True, True]


@pytest.mark.parametrize("conflict", ["refuse", "number", "replace", "skip"])
def test_several_files_do_not_share_one_name(planning, conflict):
    """F40: a missing slash turned `into the folder out` into out, out (2), out (3), without endings."""
    make_files(planning.folder, {"a.txt": "1", "b.txt": "2"})
    with pytest.raises(PlanConflict, match=r"`move:a\.txt` and `move:b\.txt` have one target") as refused:
        planning.steps(TIDY.format(to="out", conflict=conflict))
    assert "slash" in refused.value.hint


def test_a_slash_at_the_end_means_into_that_folder(planning):
    make_files(planning.folder, {"a.txt": "1", "b.txt": "2"})
    plan = planning.steps(TIDY.format(to="out/", conflict="refuse"))
    assert planning.targets(plan) == ["out/a.txt", "out/b.txt"]


def test_an_existing_folder_as_a_target_asks_for_the_slash(planning):
    make_files(planning.folder, {"a.txt": "1", "out/": None})
    with pytest.raises(PlanConflict, match="exists already") as refused:
        planning.steps(moves(("a.txt", "out")))
    assert "slash" in refused.value.hint


def test_a_folder_is_not_merged_into_another(planning):
    """F25."""
    make_files(planning.folder, {"src/x": "1", "dst/x": "2"})
    with pytest.raises(PlanConflict, match="exists already"):
        planning.steps(moves(("src", "dst")))


def test_an_archive_in_a_folder_gets_the_ending_of_its_format(planning):
    make_files(planning.folder, {"a.log": "1"})
    plan = planning.steps(
        '[[steps]]\naction="fs.compress"\nfrom="{folder}/a.log"\nto="{folder}/old/"\nformat="gzip"\n'
    )
    assert planning.targets(plan) == ["old/a.log.gz"]
    assert plan.steps[0].size_bytes is None  # how small it gets is not known before


def test_an_archive_yet_to_be_made_has_no_size_to_select_by(planning):
    make_files(planning.folder, {"a.log": "1"})
    with pytest.raises(PlanConflict, match=r"size or time of .*a\.log\.gz. is not known yet"):
        planning.steps(
            '[[steps]]\naction="fs.compress"\nfrom="{folder}/a.log"\nto="{folder}/a.log.gz"\nformat="gzip"\n'
            '[[steps]]\naction="fs.delete"\npath="{file.path}"\n'
            '[steps.for_each]\nfiles="{folder}/*.gz"\nlarger_than="0"\n'
        )


def test_names_that_fold_into_one_are_refused_where_the_folder_folds(planning, monkeypatch):
    """F31, on a folder that takes `A.txt` and `a.txt` for one name."""
    from deskshell.skills import folding

    monkeypatch.setattr(folding, "folds", lambda folder: True)
    make_files(planning.folder, {"1/a.txt": "1", "2/A.txt": "2"})
    with pytest.raises(PlanConflict, match=r"`move:a\.txt` and `move:A\.txt`.*one name"):
        planning.steps(TIDY.format(to="out/{file.name}", conflict="number"))


# folders


def test_missing_folders_are_steps_of_their_own_that_are_not_counted(planning):
    make_files(planning.folder, {"a": "A", "b": "B"})
    plan = planning.steps(moves(("a", "x/y/a"), ("b", "x/y/b")))
    assert [(before, step.action_id, step.n) for before, step in plan.folders] == [
        (0, "folder:x", -1),
        (0, "folder:y", -2),
    ]
    assert [step.action_id for step in plan.ordered()] == ["folder:x", "folder:y", "a->x/y/a", "b->x/y/b"]


def test_a_folder_in_the_way_of_an_earlier_step_is_made_after_it(planning):
    """`a` is a file until the first step has moved it."""
    make_files(planning.folder, {"a": "A", "b": "B"})
    plan = planning.steps(moves(("a", "c"), ("b", "a/b")))
    assert [step.action_id for step in plan.ordered()] == ["a->c", "folder:a", "b->a/b"]


def test_a_folder_in_one_that_took_the_place_of_another_is_made_after_it(planning):
    """Its path is the same, and yet it cannot be made with the first one."""
    make_files(planning.folder, {"f": "F", "g": "G"})
    plan = planning.steps(moves(("f", "b/f"), ("b", "a"), ("g", "b/in/g")))
    assert [step.action_id for step in plan.ordered()] == [
        *("folder:b", "f->b/f", "b->a"),
        *("folder:b", "folder:in", "g->b/in/g"),
    ]


@pytest.mark.parametrize(
    "reader",
    [
        'action = "fs.copy"\nfrom = "{folder}/c"\nto = "{folder}/d"',
        'action = "fs.compress"\nfrom = "{folder}/c"\nto = "{folder}/c.zip"\nkeep = true',
        'action = "fs.copy"\nfrom = "{folder}/b"\nto = "{folder}/e"\nassert = [{ missing = "{folder}/c/a" }]',
    ],
)
def test_a_folder_is_made_after_the_steps_that_would_see_it(planning, reader):
    """Otherwise it would be in a copy or an archive of the folder around it, or fail a post-condition."""
    make_files(planning.folder, {"c/f": "F", "b": "B"})
    plan = planning.steps(f'[[steps]]\nid = "reads"\n{reader}\n' + moves(("b", "c/a/b")))
    assert [step.action_id for step in plan.ordered()] == ["reads", "folder:a", "b->c/a/b"]


def test_a_file_where_a_folder_is_needed_is_refused(planning):
    make_files(planning.folder, {"a": "A", "b": "B"})
    with pytest.raises(PlanConflict, match="is a file, not a folder"):
        planning.steps(moves(("b", "a/b")))


# the tree as earlier steps leave it


def test_a_selector_sees_what_earlier_steps_moved(planning):
    make_files(planning.folder, {"in/a.txt": "A"})
    plan = planning.steps(
        moves(("in", "out"))
        + """
        [[steps]]
        for_each = { files = "{folder}/out/*" }
        action = "fs.move"
        from = "{file.path}"
        to = "{folder}/out/{file.stem}-2.{file.ext}"
        """
    )
    assert planning.moves(plan) == [("in", "out"), ("out/a.txt", "out/a-2.txt")]


def test_the_content_of_what_a_step_will_write_cannot_be_asked_for(planning):
    with pytest.raises(PlanConflict, match="not known yet: step `note` will make it"):
        planning.steps(
            """
            [[steps]]
            id = "note"
            action = "fs.write"
            path = "{folder}/a.txt"
            text = "x"
            [[steps]]
            for_each = { files = "{folder}/*.txt" }
            action = "fs.move"
            from = "{file.path}"
            to = "{folder}/{file.sha256}"
            """
        )


def test_a_plan_remembers_what_it_was_made_for(planning):
    make_files(planning.folder, {"a": "A"})
    plan = planning.steps(moves(("a", "b")))
    seen = dict(plan.steps[0].seen)
    folder = os.fsencode(planning.folder)
    assert seen[folder + b"/a"].size == 1
    assert seen[folder + b"/b"] is None


# scopes


def test_a_target_outside_every_scope_is_refused_with_step_target_and_capability(planning):
    make_files(planning.folder, {"a": "A"})
    with pytest.raises(ScopeError, match=r"`a->\.\./out`.*`fs\.write`.*/out"):
        planning.steps(moves(("a", "../out")))


def test_a_link_inside_a_scope_does_not_lead_out_of_it(planning, tmp_path):
    make_files(planning.folder, {"a": "A", "exit": ("->", str(tmp_path))})
    with pytest.raises(ScopeError, match="outside the granted scope"):
        planning.steps(moves(("a", "exit/a")))


def test_a_target_that_is_a_link_is_the_link(planning, tmp_path):
    make_files(planning.folder, {"l": ("->", str(tmp_path / "elsewhere"))})
    assert planning.moves(planning.steps(moves(("l", "m")))) == [("l", "m")]


def test_a_selector_outside_the_read_scope_is_refused(planning):
    with pytest.raises(ScopeError, match=r"fs\.read"):
        planning.steps(
            '[[steps]]\nfor_each={files="{folder}/../*"}\naction="fs.move"\nfrom="{file.path}"\nto="{folder}/x/"\n'
        )


def test_a_capability_that_is_not_declared_is_refused(planning):
    manifest = """
        name = "try"
        version = "1"
        summary = "s"
        [[steps]]
        id = "note"
        action = "fs.write"
        path = "note.txt"
        text = "x"
        """
    with pytest.raises(CapabilityError, match=r"step `note` needs `fs\.write`.*does not declare"):
        planning.plan(manifest)


def test_an_empty_scope_grants_nothing(planning):
    manifest = """
        name = "try"
        version = "1"
        summary = "s"
        [[capabilities]]
        name = "fs.write"
        scope = []
        reason = "r"
        [[steps]]
        action = "fs.write"
        path = "note.txt"
        text = "x"
        """
    with pytest.raises(CapabilityError, match="does not declare"):
        planning.plan(manifest)


def test_a_plan_that_needs_more_than_was_granted_is_refused_whole(planning):
    make_files(planning.folder, {"a": "A"})
    with pytest.raises(CapabilityError, match="was not granted"):
        Prepared(planning.steps(moves(("a", "b")))).granting(["fs.read"])


def test_granting_what_is_not_declared_or_not_known_is_an_error(planning):
    make_files(planning.folder, {"a": "A"})
    planned = Prepared(planning.steps(moves(("a", "b"))))

    with pytest.raises(CapabilityError, match="not declared"):
        planned.granting(["net.request"])
    with pytest.raises(UsageError, match=r"did you mean `fs\.write`"):
        planned.granting(["fs.writ"])


@pytest.mark.parametrize("target", ["state/journal.jsonl", "state", "."])
def test_deskshells_own_folder_is_never_touched(planning, target):
    """F39: at, above and below."""
    make_files(planning.folder, {"state/journal.jsonl": "{}"})
    planning.state = planning.folder / "state"
    with pytest.raises(ScopeError, match="deskshell's own folder"):
        planning.steps(
            f'[[steps]]\naction="fs.delete"\npath="{{folder}}/{target}"\n', {"folder": str(planning.folder)}
        )


# the rest


def test_relative_paths_lie_in_the_working_directory(planning):
    """F45: one rule for parameters, scopes, selectors and targets."""
    make_files(planning.folder, {"sub/a.txt": "A"})
    manifest = """
        name = "try"
        version = "1"
        summary = "s"
        [params.place]
        type = "path"
        [[capabilities]]
        name = "fs.read"
        scope = ["sub"]
        reason = "r"
        [[capabilities]]
        name = "fs.write"
        scope = ["sub", "{place}"]
        reason = "w"
        [[steps]]
        for_each = { files = "sub/*" }
        action = "fs.move"
        from = "{file.path}"
        to = "{place}/"
        """
    plan = planning.plan(manifest, {"place": "other"})
    assert planning.moves(plan) == [("sub/a.txt", "other/a.txt")]
    assert plan.origin.params == {"place": str(planning.folder / "other")}


def test_a_folder_that_a_parameter_names_has_to_be_there(planning):
    with pytest.raises(NotFound, match=r"folder `.*/nowhere` does not exist"):
        planning.steps(TIDY.format(to="x/", conflict="refuse"), {"folder": "nowhere"})


def test_nothing_to_select_is_a_plan_without_steps(planning):
    assert planning.steps(TIDY.format(to="x/", conflict="refuse")).steps == ()


def test_equal_ids_are_told_apart(planning):
    make_files(planning.folder, {"a": "A", "b": "B"})
    plan = planning.steps(moves(("a", "c"), ("b", "d")).replace("a->c", "m").replace("b->d", "m"))
    assert [step.action_id for step in plan.steps] == ["m", "m#2"]


def test_names_that_are_not_utf8_and_with_newlines_keep_their_bytes(planning):
    """F29, F30."""
    make_files(planning.folder, {b"caf\xe9.txt": "1", b"a\nb.txt": "2", b"a.txt": "3"})
    plan = planning.steps(TIDY.format(to="out/{file.name}", conflict="refuse"))
    assert [step.action.dst.rpartition(b"/")[2] for step in plan.steps] == [
        b"a\nb.txt",
        b"a.txt",
        b"caf\xe9.txt",
    ]
    assert all(step.action_id.isprintable() for step in plan.steps)


def test_secrets_are_references_in_the_plan(planning):
    plan = planning.plan(
        """
        name = "try"
        version = "1"
        summary = "s"
        [params.token]
        type = "secret"
        [[capabilities]]
        name = "net.request"
        scope = ["https://example.org/"]
        reason = "r"
        [[steps]]
        action = "http.request"
        method = "POST"
        url = "https://example.org/a"
        headers = { Authorization = "Bearer {token}" }
        """
    )
    assert plan.secrets == ("token",)
    assert plan.origin.params == {"token": {"secret": "token"}}
    assert plan.steps[0].action.to_json()["headers"] == {"Authorization": ["Bearer ", {"secret": "token"}]}


def test_asserts_know_the_steps_own_keys(planning):
    make_files(planning.folder, {"a": "A"})
    plan = planning.steps(moves(("a", "b")) + 'assert = [{ exists = "{to}" }, { missing = "{from}" }]\n')
    folder = str(planning.folder)
    assert [each.to_json() for each in plan.steps[0].terms.asserts] == [
        {"exists": f"{folder}/b"},
        {"missing": f"{folder}/a"},
    ]


def test_an_assert_outside_the_read_scope_is_refused(planning):
    make_files(planning.folder, {"a": "A"})
    with pytest.raises(ScopeError, match=r"fs\.read"):
        planning.steps(moves(("a", "b")) + 'assert = [{ exists = "/etc/passwd" }]\n')


def test_a_compensation_is_planned_with_its_step(planning):
    plan = planning.plan(
        """
        name = "try"
        version = "1"
        summary = "s"
        [[capabilities]]
        name = "net.request"
        scope = ["https://example.org/"]
        reason = "r"
        [[steps]]
        action = "http.request"
        method = "PUT"
        url = "https://example.org/a"
        undo = { action = "http.request", method = "DELETE", url = "{url}" }
        """
    )
    assert plan.steps[0].terms.compensation.summary() == "DELETE https://example.org/a"
    assert plan.steps[0].compensated


def test_an_agents_list_is_planned_the_same_way(planning, kinds):
    from deskshell.skills import planner
    from tests.skills.conftest import NOW

    make_files(planning.folder, {"a": "A", "b": "B"})

    def plan(actions):
        return planner.plan_actions(
            actions,
            [{"name": "fs.write", "scope": ["."], "reason": "swap"}],
            kinds=kinds,
            where=planning.where,
            now=NOW,
            state_folder=os.fsencode(planning.state),
        )

    swap = plan(
        [{"action": "fs.move", "from": "a", "to": "b"}, {"action": "fs.move", "from": "b", "to": "a"}]
    )
    assert planning.moves(swap) == [("a", "~"), ("b", "a"), ("~", "b")]
    with pytest.raises(
        ManifestError, match=r"actions: \[\[steps\]\] 1: unknown key `form` \(did you mean `from`\?\)"
    ):
        plan([{"action": "fs.move", "form": "a", "to": "b"}])


def test_a_plan_changes_nothing(planning):
    from tests.support.listing import listing

    make_files(planning.folder, {"a.txt": "A", "d/b.txt": "B"})
    before = listing(planning.folder)
    planning.steps(TIDY.format(to="out/{file.name}", conflict="number"))
    assert listing(planning.folder) == before
    assert not planning.state.exists()
