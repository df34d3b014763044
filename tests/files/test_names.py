"""Byte names shown, carried in JSON, and made up."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskshell.files.names import from_json, numbered, plain, shorten, show, temp_name

NAMES = st.binary(min_size=1, max_size=255).filter(lambda name: b"/" not in name and b"\0" not in name)
PATHS = st.binary(max_size=300).filter(lambda path: b"\0" not in path)
TEXT = st.text(min_size=1, max_size=60).filter(lambda t: "/" not in t and "\0" not in t)


@pytest.mark.parametrize(
    "path, shown",
    [
        (b"/home/me/report.txt", "/home/me/report.txt"),
        ("/home/me/Übung №5 日本.txt".encode(), "/home/me/Übung №5 日本.txt"),
        ("Screenshot at 5.03\u202fPM.png".encode(), "Screenshot at 5.03\u202fPM.png"),
        ("👩\u200d💻".encode(), "👩\u200d💻"),
        (b"two\nlines\r\t", r"two\nlines\r\t"),
        (b"\x1b[31mred\x1b[0m\x07\x7f", r"\x1b[31mred\x1b[0m\x07\x7f"),
        ("invoice\u202efdp.exe".encode(), r"invoice\u202efdp.exe"),
        ("a\u2066b\u2069\u200f".encode(), r"a\u2066b\u2069\u200f"),
        ("a\u2028b\u2029c\u0085d".encode(), r"a\u2028b\u2029c\u0085d"),
        ("tag\U000e0041".encode(), r"tag\U000e0041"),
        (b"caf\xe9 \xff", r"caf\xe9 \xff"),
        ("é".encode() + b"\xe9\n", r"é\xe9\n"),
        (b"back\\slash", r"back\\slash"),
        (b"\xed\xb2\x80", r"\xed\xb2\x80"),  # a surrogate spelt in UTF-8 is no UTF-8
        (b"", ""),
    ],
)
def test_a_name_is_shown_on_one_harmless_line(path: bytes, shown: str) -> None:
    assert show(path) == shown


@given(PATHS)
def test_what_is_shown_can_neither_steer_a_terminal_nor_break_json(path: bytes) -> None:
    shown = show(path)

    shown.encode("utf-8")  # no lone surrogate
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not any(unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "RLI", "PDF") for c in shown)
    assert len(shown.splitlines()) <= 1


@given(st.lists(PATHS, min_size=2, max_size=2, unique=True))
@example([b"a\nb", b"a\\nb"])
@example([b"\xe9", b"\\xe9"])
def test_two_names_never_look_alike_by_escaping(paths: list[bytes]) -> None:
    assert show(paths[0]) != show(paths[1])


@given(PATHS)
def test_any_name_survives_json(path: bytes) -> None:
    text, b64 = json.loads(json.dumps(plain(path)))

    assert from_json(text, b64) == path


def test_utf8_is_carried_as_it_is_and_other_bytes_count_by_base64() -> None:
    assert plain(b"a\nb") == ("a\nb", None)
    assert plain(b"caf\xe9") == (r"caf\xe9", "Y2Fm6Q==")


@pytest.mark.parametrize("text, b64", [("x", "?"), ("x", "Y2Fm6Q"), ("\udce9", None)])
def test_a_record_that_is_no_name_is_refused(text: str, b64: str | None) -> None:
    with pytest.raises(ValueError):
        from_json(text, b64)


@pytest.mark.parametrize(
    "text, width, short",
    [
        ("report.txt", 10, "report.txt"),
        ("a-very-long-report.txt", 11, "a-ver…t.txt"),
        ("abcdef", 5, "ab…ef"),
        ("abcdef", 4, "ab…f"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("日本語の名前", 7, "日…前"),
        ("日本語の名前", 8, "日本…前"),
        ("日本語の名前", 12, "日本語の名前"),
    ],
)
def test_a_long_text_is_cut_in_the_middle(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


@given(st.text(alphabet="abc日本語👩", max_size=80), st.integers(min_value=0, max_value=90))
def test_a_shortened_text_fits_and_a_fitting_one_is_left_alone(text: str, width: int) -> None:
    def columns(value: str) -> int:
        return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in value)

    short = shorten(text, width)

    assert columns(short) <= width
    assert (short == text) == (columns(text) <= width)


def test_marks_that_take_no_column_are_not_counted() -> None:
    assert shorten("e\u0301" * 5, 5) == "e\u0301" * 5


@given(st.from_regex(r"[A-Za-z0-9]{1,32}", fullmatch=True), st.integers(min_value=0, max_value=10**12 - 1))
def test_a_temporary_name_is_short_and_hidden(token: str, n: int) -> None:
    name = temp_name(token, n)

    assert name == f".deskshell-{token}-{n}".encode()
    assert len(name) < 60


@pytest.mark.parametrize("token, n", [("", 0), ("a/b", 0), ("..", 1), ("a" * 33, 0), ("a\n", 0), ("a", -1)])
def test_a_temporary_name_is_made_of_nothing_strange(token: str, n: int) -> None:
    with pytest.raises(ValueError, match="temporary name"):
        temp_name(token, n)


@pytest.mark.parametrize(
    "name, k, result",
    [
        (b"report.txt", 2, b"report (2).txt"),
        (b"backup.tar.gz", 3, b"backup (3).tar.gz"),
        (b"BACKUP.TAR.ZST", 2, b"BACKUP (2).TAR.ZST"),
        (b"noending", 2, b"noending (2)"),
        (b".profile", 2, b".profile (2)"),
        (b".tar.gz", 2, b".tar (2).gz"),
        (b".config.json", 2, b".config (2).json"),
        (b"trailing.", 2, b"trailing (2)."),
        (b"caf\xe9.txt", 2, b"caf\xe9 (2).txt"),
        (b"a" * 255, 2, b"a" * 251 + b" (2)"),
        (b"a" * 251 + b".txt", 10, b"a" * 246 + b" (10).txt"),
        ("é".encode() * 125 + b".txt", 2, "é".encode() * 123 + b" (2).txt"),
        (b"x." + b"e" * 253, 2, (b"x." + b"e" * 253)[:251] + b" (2)"),
        (b"\xff" * 255, 2, b"\xff" * 251 + b" (2)"),
    ],
)
def test_a_numbered_name_keeps_its_ending_and_fits(name: bytes, k: int, result: bytes) -> None:
    assert numbered(name, k) == result
    assert len(result) <= 255


@given(NAMES, st.integers(min_value=2, max_value=99999))
def test_a_numbered_name_is_always_a_new_name(name: bytes, k: int) -> None:
    result = numbered(name, k)

    assert result != name
    assert len(result) <= 255
    assert b"/" not in result
    assert result not in (numbered(name, k + 1), b".", b"..")


@given(TEXT, st.integers(min_value=2, max_value=99999))
def test_a_numbered_name_stays_text(text: str, k: int) -> None:
    """Half a character would make the name unreadable for every other program."""
    try:
        name = (text * 20).encode("utf-8")
    except UnicodeEncodeError:
        return
    cut = name[:255].decode("utf-8", "ignore").encode()

    numbered(cut, k).decode("utf-8")
