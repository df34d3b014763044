"""Keys for agents over HTTP: shown once, kept as a hash, good for what they say and as long as they say."""

from __future__ import annotations

import hashlib
import re

import pytest

from deskshell.app.keys import SCOPES, Keys
from deskshell.errors import NotFound, UsageError
from deskshell.store.folder import StateFolder

DAY_S = 86_400


@pytest.fixture
def keys(tmp_path):
    return Keys(StateFolder(tmp_path / "state"))


def test_a_key_is_known_until_it_expires(keys):
    key, text = keys.new("laptop", ["read", "plan"], ttl_s=DAY_S, now_ms=1000)

    assert re.fullmatch(r"dsk_[0-9a-f]{12}_[0-9A-Za-z_-]{43}", text)
    assert keys.check(text, 1000) == key
    assert keys.check(text, 1000 + DAY_S * 1000 - 1) == key
    assert keys.check(text, 1000 + DAY_S * 1000) is None
    assert keys.check(text, 999) is None, "the clock went back"


def test_only_a_hash_is_stored(keys, tmp_path):
    key, text = keys.new("laptop", SCOPES, ttl_s=DAY_S, now_ms=0)
    random = text.rpartition(f"dsk_{key.key_id}_")[2]

    stored = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert stored
    assert not any(random.encode() in path.read_bytes() for path in stored)
    assert key.sha256 == hashlib.sha256(random.encode()).hexdigest()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "state").rglob("*"))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text[:4] + "0" * 12 + text[16:],
        lambda text: text + "x",
        lambda text: text.upper(),
        lambda text: "dsk_../../etc_" + text[17:],
        lambda text: "",
        lambda text: "é" * 60,
    ],
)
def test_anything_else_is_no_key(keys, change):
    _, text = keys.new("laptop", SCOPES, ttl_s=DAY_S, now_ms=0)
    assert keys.check(change(text), 1) is None


def test_a_revoked_key_is_good_for_nothing(keys):
    key, text = keys.new("laptop", SCOPES, ttl_s=DAY_S, now_ms=0)
    keys.revoke(key.key_id)

    assert keys.check(text, 1) is None
    for key_id in (key.key_id, "", "../plans", "g" * 12):
        with pytest.raises(NotFound):
            keys.revoke(key_id)


def test_a_key_has_known_scopes_and_at_least_one(keys):
    with pytest.raises(UsageError, match="everything"):
        keys.new("x", ["everything"], ttl_s=DAY_S, now_ms=0)
    with pytest.raises(UsageError):
        keys.new("x", [], ttl_s=DAY_S, now_ms=0)
    assert keys.all() == []


def test_a_key_is_made_listed_and_revoked_and_shown_once(cli):
    made = cli("keys", "new", "laptop", "--scope", "read", "--expires", "7d", "--json")
    assert made.code == 0
    listed = cli("keys", "list", "--json").json["keys"]
    assert [(key["id"], key["name"], key["scopes"], key["expired"]) for key in listed] == [
        (made.json["id"], "laptop", ["read"], False)
    ]
    assert made.json["key"] not in cli("keys", "list").out
    assert cli("keys", "new", "x", "--expires", "soon").code == 2
    assert cli("keys", "revoke", made.json["id"]).code == 0
    assert cli("keys", "list").out == "no keys; make one with `deskshell keys new NAME`\n"
    assert cli("keys", "revoke", made.json["id"]).code == 2
    plain = cli("keys", "new", "y")
    assert plain.out.startswith("dsk_")
    assert plain.out.count("\n") == 1
