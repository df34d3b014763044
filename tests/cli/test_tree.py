"""A preview's tree is readable at any size and width, and no name can forge a line of it."""

from __future__ import annotations

import pytest

from deskshell.cli.tree import grow, say_tree
from deskshell.files import names

SMALL = [
    (b"/home/ada/Downloads/documents", True, None, "mkdir"),
    (b"/home/ada/Downloads/documents/invoice.pdf", False, 120_000, "move"),
    (b"/home/ada/Downloads/images/holiday.jpg", False, 3_400_000, "move"),
    (b"/home/ada/Downloads/TIDIED.txt", False, 20, "write"),
]


@pytest.fixture
def drawn(capsys, monkeypatch):
    """The tree of some entries as lines."""
    monkeypatch.setenv("HOME", "/home/ada")

    def draw(entries, *, columns: int = 100, guides: bool = False) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        say_tree(grow(entries), guides=guides)
        return capsys.readouterr().out.splitlines()

    return draw


def test_a_pipe_gets_indentation(drawn):
    assert drawn(SMALL) == [
        "~/Downloads",
        "  documents/  mkdir",
        "    invoice.pdf  120 kB, move",
        "  images/",
        "    holiday.jpg  3.4 MB, move",
        "  TIDIED.txt  20 B, write",
    ]


def test_a_terminal_gets_lines(drawn):
    assert drawn(SMALL, guides=True) == [
        "~/Downloads",
        "├── documents/  mkdir",
        "│   └── invoice.pdf  120 kB, move",
        "├── images/",
        "│   └── holiday.jpg  3.4 MB, move",
        "└── TIDIED.txt  20 B, write",
    ]


def test_one_file_is_shown_below_its_folder(drawn):
    assert drawn([(b"/srv/a/b/c.txt", False, 1, "write")]) == ["/srv/a/b", "  c.txt  1 B, write"]


def test_nothing_is_wider_than_the_terminal_and_endings_stay(drawn):
    name = b"/home/ada/Downloads/pictures/a holiday picture with a very long name indeed.jpeg"

    lines = drawn(
        [(name, False, 3_400_000, "move"), (b"/home/ada/Downloads/x", False, 1, "move")], columns=40
    )

    assert max(map(names.width, lines)) <= 40
    assert lines[2] == "    a holiday p…ndeed.jpeg  3.4 MB, move"


def test_a_large_folder_is_cut_and_the_rest_counted(drawn):
    lines = drawn([(b"/srv/in/%05d.txt" % n, False, 1, "move") for n in range(10_000)])

    assert len(lines) == 22
    assert lines[-2:] == ["  00019.txt  1 B, move", "  … and 9,980 more"]


def test_many_folders_are_cut_and_the_rest_counted(drawn):
    entries = [(b"/srv/%02d/%02d.txt" % (n // 15, n % 15), False, 1, "move") for n in range(150)]

    lines = drawn(entries)

    shown = sum(line.endswith("move") for line in lines)
    assert lines[-1] == f"… and {150 - shown} more"


def test_a_name_cannot_forge_a_line(drawn):
    """F30."""
    lines = drawn(
        [(b"/srv/a\n  evil.txt  1 B, move\x1b[2J\xe9", False, 1, "move"), (b"/srv/b", False, 1, "move")]
    )

    assert lines[1] == r"  a\n  evil.txt  1 B, move\x1b[2J\xe9  1 B, move"
    assert len(lines) == 3
