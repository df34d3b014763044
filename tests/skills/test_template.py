"""Templates: what is filled in, and what a value may never do to a path."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskshell.errors import ManifestError, PlanConflict, UsageError
from deskshell.kernel.secrets import SecretText
from deskshell.skills import template, template_path
from deskshell.skills.naming import Values
from deskshell.skills.subject import Found, Secret, Subject, local_time
from deskshell.skills.units import Duration

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
VALUES = Values(
    {"folder": b"/home/u/x y", "word": "w", "count": 7, "age": Duration(60, "1m"), "key": Secret("key")}, NOW
)


def found(path: bytes) -> Subject:
    return Subject(n=3, file=Found(path, "file", path, None))


def text(source: str, subject: Subject | None = None) -> str:
    return template.compile_text(template.parse(source), VALUES)(subject or Subject()).masked()


def path(source: str, subject: Subject | None = None) -> bytes:
    return template_path.compile_path(template.parse(source), VALUES, "`to`")(subject or Subject())


def test_names_formats_and_braces_are_filled_in():
    assert text("{{{word}}} {count:03} {now:%d.%m.%Y} {age}") == "{w} 007 04.03.2026 1m"


def test_a_date_without_a_format_is_the_day():
    assert text("{now}") == "2026-03-04"


def test_parts_of_a_file_name():
    subject = found(b"/d/a.tar.gz")
    assert text("{file.stem}|{file.ext}|{file.name}|{file.folder}|{file.category}|{n}", subject) == (
        "a.tar|gz|a.tar.gz|/d|archives|3"
    )


def test_a_missing_value_names_the_file():
    with pytest.raises(PlanConflict, match=r"`/d/README` has no `file\.ext`"):
        text("{file.ext}", found(b"/d/README"))


def test_a_missing_value_falls_back_to_the_next_name():
    assert text("{file.ext|word}", found(b"/d/README")) == "w"


@pytest.mark.parametrize("source", ["{", "}", "a{b", "{}", "{a b}", "{a.}", "{0}", "{a[0]}", "{a.b|}", "{ }"])
def test_what_is_no_template_is_refused(source):
    with pytest.raises(ManifestError):
        template.parse(source)


@pytest.mark.parametrize("source", ["{count:x}", "{count:99999999}", "{word:>5}", "{age:%d}", "{folder:s}"])
def test_a_format_that_does_not_fit_is_refused(source):
    """Formats are data of a manifest: none may be used to fill the memory."""
    with pytest.raises(ManifestError, match="does not fit"):
        text(source)


@given(st.text())
def test_text_without_braces_stays_as_it_is(source):
    quoted = source.replace("{", "{{").replace("}", "}}")
    if any("\ud800" <= char <= "\udfff" for char in source):
        return
    assert text(quoted) == source


@given(st.text(max_size=40))
def test_reading_a_template_ends_in_a_template_or_a_manifest_error(source):
    try:
        parsed = template.parse(source)
    except ManifestError:
        return
    assert parsed.source == source


# paths


def test_a_path_brings_its_folders_and_its_bytes():
    assert path("{folder}/in/{file.name}", found(b"/d/caf\xe9\n.txt")) == b"/home/u/x y/in/caf\xe9\n.txt"


def test_the_slashes_of_a_date_format_are_the_manifests_own():
    assert path("{folder}/{now:%Y/%m}") == b"/home/u/x y/2026/03"


@pytest.mark.parametrize("value", ["a/b", "/etc", "..", ".", "", "../x", "a\0b"])
def test_a_value_cannot_add_path_parts(value):
    """F40: an empty cell or one with a slash would move a file somewhere nobody wrote down."""
    row = Subject(row={"new": value})
    with pytest.raises(PlanConflict):
        path("{folder}/{row.new}/x", row)


def test_dots_inside_a_longer_name_are_only_dots():
    assert path("{folder}/{row.new}.txt", Subject(row={"new": ".."})) == b"/home/u/x y/...txt"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_rendered_value_never_changes_the_number_of_components(value):
    """F40, whatever the value: either it is refused or it stays one component."""
    try:
        rendered = path("/base/{value}/end", Subject(value=value))
    except PlanConflict:
        assert "/" in value or "\0" in value or value in ("", ".", "..")
        return
    parts = rendered.split(b"/")
    assert parts == [b"", b"base", value.encode(), b"end"]
    assert parts[2] not in (b"", b".", b"..")


def test_a_quoted_value_is_taken_literally():
    def render(source: str) -> bytes:
        return template_path.compile_path(
            template.parse(source), VALUES, "`files`", quote=lambda value: b"<" + value + b">"
        )(Subject())

    assert render("{folder}/{word}*") == b"</home/u/x y>/<w>*"


# text of names that are not UTF-8, and ids


def test_text_shows_a_name_that_is_not_utf8_escaped():
    assert text("{file.name}", found(b"/d/caf\xe9.txt")) == "caf\\xe9.txt"


def test_an_id_is_one_printable_line():
    """F30: no name may forge a second line of a preview or a log."""
    render = template.compile_id(template.parse("move:{file.name}"), VALUES)
    assert render(found(b"/d/a\nfake line \x1b[0m")) == "move:a\\nfake line \\x1b[0m"


# secrets


def test_a_secret_in_text_is_a_reference():
    rendered = template.compile_text(template.parse("Bearer {key}!"), VALUES)(Subject())
    assert rendered == SecretText(("Bearer ", ("key",), "!"))


@pytest.mark.parametrize("compile_one", [template_path.compile_path, template.compile_plain])
def test_a_secret_in_a_path_or_plain_value_is_refused(compile_one):
    with pytest.raises(UsageError, match="secret `key` is used in `to`"):
        compile_one(template.parse("/x/{key}"), VALUES, "`to`")(Subject())


def test_a_secret_in_an_id_is_refused():
    with pytest.raises(UsageError, match="secret"):
        template.compile_id(template.parse("{key}"), VALUES)


# dates


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("Europe/Helsinki", "2026-01-15 22:30", "2026-01-16"),
        ("Europe/Helsinki", "2026-07-15 21:30", "2026-07-16"),
        ("America/Los_Angeles", "2026-01-16 07:30", "2026-01-15"),
        ("America/Los_Angeles", "2026-07-16 06:30", "2026-07-15"),
    ],
)
def test_a_time_has_the_offset_of_its_own_date(monkeypatch, zone, moment, day):
    """F38: in July the winter's files would otherwise be an hour off, and some in the wrong folder."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    ns = int(datetime.strptime(moment, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()) * 10**9
    assert f"{local_time(ns):%Y-%m-%d}" == day
    monkeypatch.undo()
    time.tzset()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    gone = os.fsencode(tmp_path / "gone.jpg")
    with pytest.raises(PlanConflict, match=r"gone\.jpg"):
        text("{file.sha256}", found(gone))
