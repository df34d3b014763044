"""Values of parameters, durations and sizes."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskshell import registry
from deskshell.errors import UsageError
from deskshell.skills import manifest, params
from deskshell.skills.params import Where
from deskshell.skills.subject import Secret
from deskshell.skills.units import Duration, parse_duration, parse_size


def parse(spec, given, where=Where(b"/cwd", b"/home/me")):
    data = {"name": "x", "version": "1", "summary": "s", "params": {"p": spec}, "steps": [{"action": "noop"}]}
    return params.parse(manifest.from_data(data, registry.kinds(), "x"), given, where)["p"]


@pytest.mark.parametrize(
    ("spec", "text", "value"),
    [
        ({"type": "text"}, "a=b", "a=b"),
        ({"type": "text"}, "", ""),
        ({"type": "int"}, "-7", -7),
        ({"type": "int"}, 7, 7),
        ({"type": "bool"}, "Yes", True),
        ({"type": "bool"}, "0", False),
        ({"type": "bool"}, False, False),
        ({"type": "choice", "choices": ["a", "b"]}, "b", "b"),
        ({"type": "duration"}, "2h", Duration(7200, "2h")),
        ({"type": "path"}, "/x/y", b"/x/y"),
        ({"type": "path"}, "y", b"/cwd/y"),
        ({"type": "path"}, "~", b"/home/me"),
        ({"type": "path"}, "~/y", b"/home/me/y"),
        ({"type": "path"}, "./y/../z", b"/cwd/z"),
        ({"type": "path"}, ".", b"/cwd"),
        ({"type": "path"}, b"/caf\xe9", b"/caf\xe9"),
    ],
)
def test_values_by_type(spec, text, value):
    assert parse(spec, {"p": text}) == value


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ({"type": "int"}, "7.5", "parameter `p`: `7.5` is no whole number"),
        ({"type": "int"}, True, "parameter `p`: true and false are no numbers"),
        ({"type": "bool"}, "maybe", "parameter `p`: `maybe` is neither true nor false"),
        ({"type": "choice", "choices": ["a", "b"]}, "c", "parameter `p`: `c` is not one of the choices"),
        ({"type": "duration"}, "5 minutes", "parameter `p`: `5 minutes` is no duration"),
        ({"type": "path"}, "", "parameter `p`: a path is empty"),
        ({"type": "path"}, "~root/x", "parameter `p`: `~root/x`: only `~` is known, no other user's home"),
        ({"type": "text"}, ["a"], "parameter `p`: `['a']` is not text"),
    ],
)
def test_a_value_that_does_not_fit_is_named(spec, text, message):
    with pytest.raises(UsageError) as refused:
        parse(spec, {"p": text})
    assert refused.value.message == message


def test_a_missing_value_is_named_with_its_help():
    with pytest.raises(UsageError, match=r"the parameter `p` is needed \(the folder\)") as refused:
        parse({"type": "path", "help": "the folder"}, {})
    assert refused.value.hint == "give it with --set p=…"


def test_an_unknown_name_has_a_suggestion():
    with pytest.raises(UsageError, match=r"unknown parameter `pp` \(did you mean `p`\?\)"):
        parse({"type": "text", "default": ""}, {"pp": "x"})


def test_a_secret_is_never_taken_from_the_command_line():
    """Everyone on the machine can read a process's arguments."""
    assert parse({"type": "secret"}, {}) == Secret("p")
    with pytest.raises(UsageError, match="not set on the command line") as refused:
        parse({"type": "secret"}, {"p": "hunter2"})
    assert "hunter2" not in refused.value.message
    assert "DESKSHELL_SECRET_P" in refused.value.hint


def test_a_link_as_a_value_stays_the_link(tmp_path):
    (tmp_path / "l").symlink_to("elsewhere")
    assert parse({"type": "path"}, {"p": str(tmp_path / "l")}) == os.fsencode(tmp_path / "l")


def test_the_record_of_values_holds_no_secret_and_every_byte():
    values = {"a": b"/caf\xe9", "b": Secret("b"), "c": Duration(60, "1m"), "d": 1, "e": True, "f": "x\udcff"}
    assert params.to_json(values) == {
        "a": "/caf\\xe9",
        "aBytes": "L2NhZuk=",
        "b": {"secret": "b"},
        "c": "1m",
        "d": 1,
        "e": True,
        "f": "x\\xff",
    }


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("45s", 45), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("1w", 604800), (" 1 d ", 86400)],
)
def test_durations(text, seconds):
    assert parse_duration(text).seconds == seconds


@pytest.mark.parametrize(
    "text", ["", "1", "h", "1.5h", "-1h", "1H", "1h30m", "1 month", "1y", "１h", "9999999999d"]
)
def test_other_durations_are_refused(text):
    with pytest.raises(UsageError, match="is no duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("10", 10),
        ("10B", 10),
        ("10kB", 10_000),
        ("10KB", 10_000),
        ("4KiB", 4096),
        ("1.5 MB", 1_500_000),
        ("2g", 2 * 10**9),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@given(st.text(max_size=8))
def test_any_text_is_a_size_and_a_duration_or_a_usage_error(text):
    for read in (parse_size, parse_duration):
        try:
            read(text)
        except UsageError as exc:
            hint = exc.hint
        else:
            hint = "not needed"
        assert hint
