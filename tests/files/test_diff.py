"""The difference of two texts as a person reads it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deskshell.files.diff import unified


def test_a_changed_line_is_shown_with_its_context() -> None:
    assert unified(b"a\nb\nc\n", b"a\nB\nc\n", "old", "new") == [
        "--- old",
        "+++ new",
        "@@ -1,3 +1,3 @@",
        " a",
        "-b",
        "+B",
        " c",
    ]


def test_equal_texts_have_no_difference() -> None:
    assert unified(b"a\n", b"a\n", "old", "new") == []


def test_a_missing_last_newline_is_a_difference() -> None:
    assert unified(b"a", b"a\n", "old", "new") == [
        "--- old",
        "+++ new",
        "@@ -1 +1 @@",
        "-a",
        "\\ No newline at end of file",
        "+a",
    ]


def test_text_that_looks_like_a_header_is_text() -> None:
    assert unified(b"", b"++ x\n@@ y\n@@ z", "o", "n") == [
        "--- o",
        "+++ n",
        "@@ -0,0 +1,3 @@",
        "+++ x",
        "+@@ y",
        "+@@ z",
        "\\ No newline at end of file",
    ]
    assert unified(b"-- x", b"", "o", "n") == [
        "--- o",
        "+++ n",
        "@@ -1 +0,0 @@",
        "--- x",
        "\\ No newline at end of file",
    ]


def test_line_ends_of_windows_are_a_difference() -> None:
    assert unified(b"a\r\n", b"a\n", "o", "n") == ["--- o", "+++ n", "@@ -1 +1 @@", "-a\r", "+a"]


def test_binary_content_is_not_shown() -> None:
    assert unified(b"a\0b", b"text", "o", "n") is None
    assert unified(b"text", b"\xff\xfe", "o", "n") is None


def test_huge_texts_are_not_compared() -> None:
    assert unified(b"a" * (1 << 20), b"b", "o", "n") is not None
    assert unified(b"a" * ((1 << 20) + 1), b"b", "o", "n") is None
    assert unified(b"\n" * 20_001, b"b", "o", "n") is None


@given(st.text(alphabet="ab\n\f\u2028", max_size=7), st.text(alphabet="ab\n\f\u2028", max_size=7))
def test_the_new_text_can_be_read_off_the_difference(old: str, new: str) -> None:
    lines = unified(old.encode(), new.encode(), "o", "n")

    assert lines is not None
    if old == new:
        assert lines == []
        return
    rebuilt, previous = "", ""
    for line in lines[3:]:
        if line.startswith(("+", " ")):
            rebuilt += line[1:] + "\n"
        elif line.startswith("\\") and previous.startswith(("+", " ")):
            rebuilt = rebuilt[:-1]
        previous = line
    assert rebuilt == new
