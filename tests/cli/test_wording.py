"""Numbers and times as people read them."""

from __future__ import annotations

import time

import pytest

from deskshell.cli import wording
from deskshell.cli.moments import since_ms
from deskshell.errors import UsageError


@pytest.mark.parametrize("number, text", [(0, "0 steps"), (1, "1 step"), (10_000, "10,000 steps")])
def test_counts(number, text):
    assert wording.count(number, "step") == text


@pytest.mark.parametrize(
    "size, text",
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9950, "10 kB"), (999_499, "999 kB"),
     (999_500, "1.0 MB"), (34_000_000, "34 MB"), (2 * 10**18, "2000 PB")],
)  # fmt: skip
def test_sizes(size, text):
    assert wording.size(size) == text


@pytest.mark.parametrize(
    "seconds, text",
    [(0.04, "0.0 s"), (0.2, "0.2 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (3700, "1 h 1 min")],
)
def test_durations(seconds, text):
    assert wording.seconds(seconds) == text


def test_a_time_that_no_calendar_has_is_shown_as_it_is():
    assert wording.when(10**30) == f"{10**30} ms"


def test_home_is_shown_as_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")

    assert wording.shell_path("/home/ada") == "~"
    assert wording.shell_path("/home/ada/x") == "~/x"
    assert wording.shell_path("/home/adam") == "/home/adam"


@pytest.fixture
def zone(monkeypatch):
    """Sets the local time zone."""

    def use(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


NOW_MS = 1_793_201_984_999


@pytest.mark.parametrize("text, back_s", [("30m", 1800), ("2h", 7200), ("1d", 86400), ("45s", 45)])
def test_a_span_counts_back_from_now(text, back_s):
    assert since_ms(text, now_ms=NOW_MS) == NOW_MS - back_s * 1000


@pytest.mark.parametrize(
    "text, utc",
    [
        ("2026-01-15 00:00", "2026-01-14T23:00:00+00:00"),
        ("2026-07-15", "2026-07-14T22:00:00+00:00"),
        ("2026-07-15T12:00:00Z", "2026-07-15T12:00:00+00:00"),
        ("2026-07-15T12:00-08:00", "2026-07-15T20:00:00+00:00"),
    ],
)
def test_a_date_has_the_offset_that_was_valid_on_that_date(zone, text, utc):
    """F38: in July, a date in January is still in winter time."""
    zone("Europe/Berlin")

    assert since_ms(text) == since_ms(utc)


@pytest.mark.parametrize("text", ["", "30", "yesterday", "2026-13-01", "-1h", "9" * 30])
def test_what_is_no_time_is_refused_with_examples(text):
    with pytest.raises(UsageError, match="no point in time") as refused:
        since_ms(text)

    assert refused.value.hint == 'give 30m, 2h or 1d, or a date such as "2026-01-15 09:30"'
