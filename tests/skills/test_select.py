"""Selectors: what a step is repeated for, in which order, and what is left out."""

from __future__ import annotations

import os
import socket
import time

import pytest

from deskshell.errors import ManifestError, NotFound, PlanConflict, ScopeError, UsageError
from tests.skills.conftest import NOW
from tests.support.trees import make_files

NOW_S = int(NOW.timestamp())


def select(planning, for_each: str, steps: str = "", **options) -> list[str]:
    """The paths that a `for_each` selects, relative to the folder, in order."""
    return planning.targets(plan(planning, for_each, steps, **options))


def plan(planning, for_each: str, steps: str = "", **options):
    return planning.steps(
        f'{steps}\n[[steps]]\nfor_each = {{ {for_each} }}\naction = "fs.delete"\npath = "{{file.path}}"\n',
        **options,
    )


def age(planning, **ages: float) -> None:
    """Set the time of each file to so many seconds before the plan is made."""
    for name, seconds in ages.items():
        os.utime(planning.folder / name.replace("_", "."), (NOW_S - seconds, NOW_S - seconds))


# patterns


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", [".hid", "a.txt", "b.md"]),
        ("*.txt", ["a.txt"]),
        ("a*", ["a.txt"]),
        ("?.md", ["b.md"]),
        ("[ab].*", ["a.txt", "b.md"]),
        ("**", [".hid", "a.txt", "b.md", "d/.git/x", "d/c.txt", "d/e/f.txt"]),
        ("**/*.txt", ["a.txt", "d/c.txt", "d/e/f.txt"]),
        ("d/**/*.txt", ["d/c.txt", "d/e/f.txt"]),
        ("*/*.txt", ["d/c.txt"]),
        ("**/e/*", ["d/e/f.txt"]),
        ("d/c.txt", ["d/c.txt"]),
        ("nothing/here/*", []),
    ],
)
def test_a_pattern_selects_what_it_matches_hidden_names_too(planning, pattern, found):
    make_files(
        planning.folder,
        {"b.md": "", "a.txt": "", ".hid": "", "d/c.txt": "", "d/e/f.txt": "", "d/.git/x": "", "empty/": None},
    )
    assert select(planning, f'files = "{{folder}}/{pattern}"') == found


def test_several_patterns_select_each_file_once(planning):
    make_files(planning.folder, {"a.txt": "", "b.md": ""})
    assert select(planning, 'files = ["{folder}/*.txt", "{folder}/*", "{folder}/a*"]') == ["a.txt", "b.md"]


def test_a_parameter_in_a_pattern_is_literal(planning):
    """A folder called `a[1]*` is that folder, not a pattern."""
    make_files(planning.folder, {"a[1]*/x": "", "a1/y": ""})
    found = select(planning, 'files = "{folder}/*"', given={"folder": "a[1]*"})
    assert found == ["a[1]*/x"]


def test_the_order_is_that_of_the_bytes_of_the_paths(planning):
    make_files(planning.folder, {b"\xff": "", b"b": "", "ä": "", b"B": "", b"a\n": ""})
    assert [os.fsencode(name) for name in select(planning, 'files = "{folder}/*"')] == [
        b"B",
        b"a\n",
        b"b",
        "ä".encode(),
        b"\xff",
    ]


def test_skip_leaves_out_names_and_whole_folders(planning):
    make_files(planning.folder, {"a.txt": "", "b.part": "", ".git/x": "", "d/node_modules/y": "", "d/c": ""})
    assert select(planning, 'files = "{folder}/**", skip = [".*", "*.part", "node_modules"]') == [
        "a.txt",
        "d/c",
    ]


def test_skip_with_a_slash_is_a_path_below_the_pattern(planning):
    make_files(planning.folder, {"tmp/a": "", "d/tmp/a": "", "d/e/tmp/a": ""})
    assert select(planning, 'files = "{folder}/**", skip = "d/**/tmp"') == ["tmp/a"]


def test_a_pattern_must_not_glue_two_stars_to_text(planning):
    with pytest.raises(ManifestError, match="whole path component"):
        select(planning, 'files = "{folder}/a**"')


# kinds of objects


def test_files_are_regular_files_and_what_is_left_out_is_said(planning, tmp_path):
    """F36: a fifo is never opened, a link never followed; both are named."""
    make_files(
        planning.folder, {"a": "1", "l": ("->", "a"), "out": ("->", str(tmp_path)), "p": ("|",), "d/": None}
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(planning.folder / "s"))
    found = plan(planning, 'files = "{folder}/**"')
    assert planning.targets(found) == ["a"]
    folder = planning.folder
    assert set(found.notes) == {
        f"left out, a link: `{folder}/l`, `{folder}/out`",
        f"left out, no regular file: `{folder}/p`, `{folder}/s`",
    }


def test_many_that_are_left_out_are_counted(planning):
    make_files(planning.folder, {f"l{n}": ("->", "x") for n in range(9)})
    (note,) = plan(planning, 'files = "{folder}/*"').notes
    assert note.endswith("and 6 more")


def test_paths_are_objects_of_all_kinds(planning):
    make_files(planning.folder, {"a": "1", "l": ("->", "a"), "p": ("|",), "d/": None})
    assert select(planning, 'paths = "{folder}/*"') == ["a", "d", "l", "p"]


def test_folders_are_selected_without_files_and_links(planning):
    make_files(planning.folder, {"a": "1", "d/e/x": "", "f/": None, "l": ("->", "d")})
    assert select(planning, 'folders = "{folder}/*"') == ["d", "f"]


def test_links_are_not_entered(planning, tmp_path):
    make_files(tmp_path / "outside", {"secret": ""})
    make_files(planning.folder, {"exit": ("->", str(tmp_path / "outside")), "a": ""})
    assert select(planning, 'files = "{folder}/**"') == ["a"]


def test_the_folder_itself_may_be_a_link(planning, tmp_path):
    make_files(planning.folder, {"real/a": "", "alias": ("->", "real")})
    assert select(planning, 'files = "{folder}/*"', given={"folder": "alias"}) == ["real/a"]


def test_deskshells_own_folder_and_temporaries_are_left_out(planning):
    """F39, F46: under whatever name the state folder is reached."""
    make_files(
        planning.folder,
        {
            "a": "",
            "x/state/journal.jsonl": "{}",
            "x/b": "",
            ".deskshell-hop-0a1b": "",
            ".deskshell-tok-1": "",
        },
    )
    planning.state = planning.folder / "x" / "state"
    assert select(planning, 'files = "{folder}/**"') == ["a", "x/b"]
    found = plan(planning, 'folders = "{folder}/*"')
    assert planning.targets(found) == []
    assert found.notes == (f"left out, deskshell's own folder is in it: `{planning.folder}/x`",)


def test_a_folder_below_that_cannot_be_read_is_noted(planning, monkeypatch):
    make_files(planning.folder, {"a": "", "closed/b": ""})
    real = os.scandir

    def scandir(path):
        if path == os.fsencode(planning.folder / "closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = plan(planning, 'files = "{folder}/**"')
    assert planning.targets(found) == ["a"]
    assert found.notes == (f"left out, a folder that may not be read: `{planning.folder}/closed`",)
    with pytest.raises(ScopeError, match="may not be read"):
        plan(planning, 'files = "{folder}/*"', given={"folder": "closed"})


def test_a_file_as_the_folder_is_an_error(planning):
    make_files(planning.folder, {"a": ""})
    with pytest.raises(NotFound, match="is a file, not a folder"):
        plan(planning, 'files = "{folder}/*"', given={"folder": "a"})


# filters


def test_files_are_selected_by_ending_and_by_category(planning):
    make_files(
        planning.folder, {"a.JPG": "", "b.jpeg": "", "c.pdf": "", "jpg": "", "d.tar.gz": "", ".jpg": ""}
    )
    assert select(planning, 'files = "{folder}/*", ext = ["jpg", ".jpeg"]') == ["a.JPG", "b.jpeg"]
    assert select(planning, 'files = "{folder}/*", category = ["documents", "archives"]') == [
        "c.pdf",
        "d.tar.gz",
    ]
    with pytest.raises(ManifestError, match="did you mean `images`"):
        select(planning, 'files = "{folder}/*", category = "image"')


def test_a_regular_expression_gives_its_groups_to_templates(planning):
    make_files(planning.folder, {"IMG_0042.jpg": "", "other.jpg": ""})
    found = planning.steps(
        """
        [[steps]]
        for_each = { files = "{folder}/*", name = '^IMG_(?P<number>\\d{4})\\.' }
        action = "fs.move"
        from = "{file.path}"
        to = "{folder}/{match.number}-{match.1}.jpg"
        """
    )
    assert planning.targets(found) == ["0042-0042.jpg"]


def test_files_are_selected_by_size_the_bound_left_out(planning):
    make_files(planning.folder, {"a": "", "b": "x" * 1000, "c": "x" * 1001, "d": "x" * 1025})
    assert select(planning, 'files = "{folder}/*", larger_than = "1kB"') == ["c", "d"]
    assert select(planning, 'files = "{folder}/*", smaller_than = "1KiB", larger_than = "0"') == ["b", "c"]
    assert select(planning, 'files = "{folder}/*", empty = true') == ["a"]


def test_files_are_selected_by_age(planning):
    make_files(planning.folder, {"a": "", "b": "", "c": ""})
    age(planning, a=3601, b=3600, c=3599)
    assert select(planning, 'files = "{folder}/*", older_than = "1h"') == ["a", "b"]
    assert select(planning, 'files = "{folder}/*", newer_than = "1h"') == ["c"]


def test_what_still_changes_is_left_out_with_a_reason(planning):
    """F47."""
    make_files(planning.folder, {"x.zip": "", "old": ""})
    age(planning, x_zip=1, old=60)
    found = plan(planning, 'files = "{folder}/*", older_than = "10s"')
    assert planning.targets(found) == ["old"]
    assert found.notes == (f"left out, changed within the last 10s: `{planning.folder}/x.zip`",)


def test_the_placeholder_beside_an_unfinished_download_is_left_out(planning):
    """F47: Firefox keeps `movie.mkv` beside `movie.mkv.part`."""
    make_files(planning.folder, {"movie.mkv": "", "movie.mkv.part": "x", "b": ""})
    assert select(planning, 'files = "{folder}/*", skip = "*.part", unless_beside = ".part"') == ["b"]


def test_a_folder_with_a_hidden_file_is_not_empty(planning):
    make_files(planning.folder, {"d/x": "", "e/": None, "f/.hid": ""})
    assert select(planning, 'folders = "{folder}/*", empty = true') == ["e"]


def test_a_folder_emptied_by_an_earlier_step_is_empty(planning):
    make_files(planning.folder, {"d/x": ""})
    step = '[[steps]]\naction="fs.move"\nfrom="{folder}/d/x"\nto="{folder}/x"\n'
    assert select(planning, 'folders = "{folder}/*", empty = true', step) == ["x", "d"]


def test_duplicates_keep_the_oldest(planning):
    make_files(
        planning.folder, {"a": "same", "b": "same", "c": "diff", "d": "same", "e": "", "f": "", "g": "longer"}
    )
    age(planning, a=1, b=3, c=9, d=2)
    assert select(planning, 'files = "{folder}/*", duplicates = "content"') == ["a", "d"]


def test_files_that_differ_late_are_no_duplicates(planning):
    make_files(
        planning.folder, {"a": "x" * 100_000 + "1", "b": "x" * 100_000 + "2", "c": "x" * 100_000 + "1"}
    )
    age(planning, a=5, b=5, c=4)
    assert select(planning, 'files = "{folder}/*", duplicates = "content"') == ["c"]


def test_only_files_of_equal_size_are_read(planning, monkeypatch):
    from deskshell.skills import select_filters
    from deskshell.skills.subject import Found

    make_files(planning.folder, {"a": "1", "b": "22", "c": "333"})
    monkeypatch.setattr(select_filters, "reading", None)
    monkeypatch.setattr(Found, "sha256", None)
    assert select(planning, 'files = "{folder}/*", duplicates = "content"') == []


def test_sorting_and_a_limit(planning):
    make_files(planning.folder, {"a": "333", "b": "1", "c": "22"})
    assert select(planning, 'files = "{folder}/*", sort = "size"') == ["b", "c", "a"]
    assert select(planning, 'files = "{folder}/*", sort = "-size", limit = 2') == ["a", "c"]


def test_photos_by_the_date_they_were_taken(planning):
    from datetime import datetime

    from deskshell.skills.pictures import picture

    make_files(
        planning.folder,
        {
            "b.jpg": picture("jpg", datetime(2024, 1, 1)),
            "a.heic": picture("heic", datetime(2024, 2, 1)),
            "none.png": picture("png", None),
            "p.jpg": ("|",),
        },
    )
    assert select(planning, 'files = "{folder}/*", taken = true, sort = "taken"') == ["b.jpg", "a.heic"]
    assert select(planning, 'files = "{folder}/*", taken = false') == ["none.png"]


def test_a_photo_of_new_years_eve_goes_to_its_own_day(planning, monkeypatch):
    """F38: the camera's clock carries no zone, and none is applied to it."""
    from datetime import datetime

    from deskshell.skills.pictures import picture

    make_files(planning.folder, {"a.jpg": picture("jpg", datetime(2023, 12, 31, 23, 59, 58))})
    step = (
        '[[steps]]\nfor_each={files="{folder}/*"}\naction="fs.move"\nfrom="{file.path}"\n'
        'to="{folder}/{file.taken:%Y-%m-%d}/"\n'
    )
    for zone in ("Etc/GMT-2", "Etc/GMT+8"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert planning.targets(planning.steps(step)) == ["2023-12-31/a.jpg"]


# rows and values


ROWS = """
[[steps]]
for_each = { rows = "{folder}/table.csv" }
action = "fs.move"
from = "{folder}/{row.old}"
to = "{folder}/{row.new name}"
"""


def test_rows_of_a_table(planning):
    make_files(
        planning.folder,
        {"table.csv": '\ufeffold,new name\r\na,"x, y"\r\n\r\nb,ü\r\n', "a": "", "b": ""},
    )
    assert planning.moves(planning.steps(ROWS)) == [("a", "x, y"), ("b", "ü")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "no first line"),
        ("old,old\n", "two columns"),
        ("old,new name\na\n", "1 cells in line 2"),
        (b"old,new name\n\xff,b\n", "not UTF-8"),
        ("old,neu\na,b\n", "unknown column `new name`"),
        ("old,new name\na,../b\n", "would add path parts"),
        ("old,new name\na,\n", "a part of the path would be"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(planning, table, message):
    make_files(planning.folder, {"table.csv": table, "a": ""})
    with pytest.raises((PlanConflict, ManifestError), match=message):
        planning.steps(ROWS)


def test_a_table_outside_the_read_scope_is_refused(planning, tmp_path):
    make_files(tmp_path / "other", {"table.csv": "old,new name\n"})
    with pytest.raises(ScopeError, match=r"fs\.read"):
        planning.steps(ROWS.replace("{folder}/table.csv", str(tmp_path / "other" / "table.csv")))


def test_values_make_a_step_each(planning):
    found = planning.steps(
        '[[steps]]\nfor_each={values=["in","out"]}\naction="fs.mkdir"\npath="{folder}/{n:02}-{value}"\n'
    )
    assert planning.targets(found) == ["01-in", "02-out"]


@pytest.mark.parametrize(
    ("for_each", "error"),
    [
        ('files = "{folder}/*", older_than = "1 month"', UsageError),
        ('files = "{folder}/*", larger_than = "10 potatoes"', UsageError),
        ('files = "{folder}/*", limit = -1', UsageError),
        ('files = "{folder}/*", limit = "x"', UsageError),
        ('files = "{folder}/*", sort = "colour"', ManifestError),
        ('files = "{folder}/*", name = "("', ManifestError),
        ('values = ["a"], ext = "txt"', ManifestError),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(planning, for_each, error):
    with pytest.raises(error):
        select(planning, for_each)
