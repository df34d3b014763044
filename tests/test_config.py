"""Settings: which source wins, and that a wrong value is refused with its place."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from deskshell.config import duration_s, load, size_bytes
from deskshell.errors import UsageError
from tests.support.privileges import is_root


@pytest.fixture
def config(home, tmp_path):
    """Writes a config file and gives its path."""

    def write(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text)
        return path

    return write


def test_without_anything_the_defaults_hold(home):
    settings = load({})

    assert settings.home == home.user / ".local/state/deskshell"
    assert settings.skills_folder == home.user / ".config/deskshell/skills"
    assert (settings.journal_max_bytes, settings.plan_ttl_s, settings.keep_s) == (5 << 20, 600, 30 * 86400)
    assert (settings.max_bytes, settings.lock_wait_s) == (None, 2)
    assert (settings.irreversible, settings.reversible, settings.config_file) == ("ask", "none", None)
    assert not settings.home.exists()


@pytest.mark.parametrize(
    "variables",
    [{}, {"XDG_STATE_HOME": "/var/s", "XDG_CONFIG_HOME": "/var/c"}, {"XDG_STATE_HOME": "relative"}],
)
def test_the_folders_are_those_that_platformdirs_names(home, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    settings = load({"HOME": str(home.user), **variables})

    assert settings.home == platformdirs.user_state_path("deskshell", appauthor=False)
    assert settings.skills_folder == platformdirs.user_config_path("deskshell", appauthor=False) / "skills"


def test_the_config_file_of_the_platform_is_found_and_overrides_defaults(home):
    folder = home.user / ".config/deskshell"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('keep = "7d"\nmax_bytes = "2 GiB"\nirreversible = "terminal"\n')

    settings = load({})

    assert (settings.keep_s, settings.max_bytes, settings.irreversible) == (7 * 86400, 2 << 30, "terminal")
    assert settings.config_file == folder / "config.toml"


def test_the_environment_overrides_the_config_file(config):
    path = config('home = "/one"\nplan_ttl = "1h"\njournal_max_bytes = 1000\n')

    settings = load(
        {"DESKSHELL_CONFIG": str(path), "DESKSHELL_HOME": "/two", "DESKSHELL_JOURNAL_MAX_BYTES": "600"}
    )

    assert (settings.home, settings.plan_ttl_s, settings.journal_max_bytes) == (Path("/two"), 3600, 600)


def test_an_empty_variable_counts_as_not_set(home):
    assert load({"DESKSHELL_HOME": "", "DESKSHELL_PLAN_TTL": ""}) == load({})


def test_the_state_folder_is_the_same_from_every_directory(home, config):
    """With a relative one `undo` would look for the task in another journal than `run` had written."""
    path = config('home = "state"\n')

    for env, named in (
        ({"DESKSHELL_HOME": "state"}, "`DESKSHELL_HOME`"),
        ({"DESKSHELL_HOME": "./state"}, "`DESKSHELL_HOME`"),
        ({"DESKSHELL_CONFIG": str(path)}, f"`home` in `{path}`"),
    ):
        with pytest.raises(UsageError) as refused:
            load(env)
        assert refused.value.message.startswith(named)
        assert "relative" in str(refused.value.hint)


def test_folders_may_start_with_a_tilde_and_a_relative_one_for_skills_is_made_absolute(
    home, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)

    settings = load({"HOME": "/home/ada", "DESKSHELL_HOME": "~/state", "DESKSHELL_SKILLS": "mine"})

    assert (settings.home, settings.skills_folder) == (Path("/home/ada/state"), tmp_path / "mine")


@pytest.mark.parametrize(
    "variable, value",
    [
        ("DESKSHELL_JOURNAL_MAX_BYTES", "lots"),
        ("DESKSHELL_JOURNAL_MAX_BYTES", "0"),
        ("DESKSHELL_PLAN_TTL", "soon"),
        ("DESKSHELL_PLAN_TTL", "0"),
        ("DESKSHELL_KEEP", "30"),
        ("DESKSHELL_MAX_BYTES", "-1"),
        ("DESKSHELL_LOCK_WAIT", "-2s"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(home, variable, value):
    with pytest.raises(UsageError) as refused:
        load({variable: value})

    assert f"`{variable}` is `{value}`" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "text, named",
    [
        ("keep = 30", "`keep` in"),
        ("home = 7", "`home` in"),
        ('irreversible = "none"', "`irreversible` in"),
        ('reversible = "never"', "`reversible` in"),
        ("lock_wait = true", "`lock_wait` in"),
        ("keep = ", "no valid TOML"),
    ],
)
def test_a_wrong_line_of_the_config_file_is_refused_with_the_file(config, text, named):
    path = config(text)

    with pytest.raises(UsageError) as refused:
        load({}, path)

    assert named in refused.value.message
    assert str(path) in refused.value.message


def test_an_unknown_key_is_refused_with_the_nearest_known_one(config):
    """A misspelt policy must not silently leave the looser default in force."""
    with pytest.raises(UsageError) as refused:
        load({}, config('irreversibel = "terminal"'))

    assert refused.value.hint == "did you mean `irreversible`?"


def test_a_config_file_that_was_named_must_exist(home, tmp_path):
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        load({"DESKSHELL_CONFIG": str(tmp_path / "gone.toml")})


def test_a_config_file_that_everybody_may_write_is_refused(config):
    """It decides which consent is asked for, so no other user may change it."""
    path = config('irreversible = "terminal"')
    path.chmod(0o666)

    with pytest.raises(UsageError, match="everybody may write"):
        load({}, path)


@pytest.mark.root
def test_a_config_file_of_another_user_is_refused(config):
    assert is_root()
    path = config("")
    os.chown(path, 65534, 65534)

    with pytest.raises(UsageError, match="another user"):
        load({}, path)


@pytest.mark.parametrize(
    "text, seconds",
    [("45s", 45), ("30m", 1800), ("2h", 7200), ("1d", 86400), ("1.5h", 5400), (" 2w ", 1209600)],
)
def test_durations_have_a_unit(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "m", "-1h", "1 fortnight", "1e3s", "٣m", "9" * 400 + "d", "1..2h", None]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="a duration is a number"):
        duration_s(text)


@pytest.mark.parametrize(
    "text, size",
    [
        (0, 0),
        ("600", 600),
        ("5 MiB", 5 << 20),
        ("5MB", 5_000_000),
        ("1.5k", 1500),
        ("2gib", 2 << 30),
        ("7b", 7),
    ],
)
def test_sizes_may_have_a_unit(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-5", "5 XB", "5 mibs", "1e9", -1, True, 1.5])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="a size is a number of bytes"):
        size_bytes(text)
