"""Keys for agents that come over HTTP: `dsk_<id>_<random>`, of which only a hash of the random part is stored.

`<state>/keys/<id>.json` holds id, name, scopes, expiry and the hash; it is written once, and removed when the
key is revoked. What comes with a key is owned by `key:<id>`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from deskshell.errors import NotFound, StateFolderError, UsageError
from deskshell.files import names
from deskshell.slotted import slotted
from deskshell.store.folder import StateFolder
from deskshell.store.records import Records

#: What a key may be used for; each tool names the one it takes.
SCOPES = {
    "read": "skills, previews, plans, and what its own tasks did",
    "plan": "store plans",
    "apply": "run skills and apply plans",
    "undo": "undo and redo its own tasks",
}

_KEY = re.compile(r"dsk_([0-9a-f]{12})_([0-9A-Za-z_-]{43})")
_ID = re.compile(r"[0-9a-f]{12}")


@slotted(frozen=True)
class Key:
    """A key as it is stored; times are milliseconds of the wall clock."""

    key_id: str
    name: str
    scopes: tuple[str, ...]
    created_ms: int
    expires_ms: int
    sha256: str

    @property
    def owner(self) -> str:
        """How journal and plans name who comes with it."""
        return f"key:{self.key_id}"

    def expired(self, now_ms: int) -> bool:
        """True when it is void, also while the clock stands before its making."""
        return not self.created_ms <= now_ms < self.expires_ms

    def to_json(self) -> dict[str, Any]:
        """The object in `keys list --json`; no part of the secret is in it."""
        return {
            "id": self.key_id,
            "name": self.name,
            "scopes": list(self.scopes),
            "createdMs": self.created_ms,
            "expiresMs": self.expires_ms,
        }


class Keys:
    """The keys of one state folder. Making one touches nothing."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._records = Records(folder.path / "keys")

    def new(self, name: str, scopes: Iterable[str], *, ttl_s: float, now_ms: int) -> tuple[Key, str]:
        """Make a key; returns it with its text, which is nowhere stored and shown this once.

        Raises UsageError for an unknown scope; StateFolderError.
        """
        chosen = tuple(dict.fromkeys(scopes))
        for scope in chosen:
            if scope not in SCOPES:
                known = ", ".join(f"`{each}`" for each in SCOPES)
                raise UsageError(f"no such scope: `{scope}`", hint=f"a key's scopes are {known}")
        if not chosen:
            raise UsageError(
                "a key without a scope opens nothing", hint="leave `--scope` out for all of them"
            )
        self._make_folder()
        key_id, random = secrets.token_hex(6), secrets.token_urlsafe(32)
        key = Key(key_id, name, chosen, now_ms, now_ms + round(ttl_s * 1000), _hash(random))
        self._records.put(key_id, json.dumps({**key.to_json(), "sha256": key.sha256}).encode() + b"\n")
        return key, f"dsk_{key_id}_{random}"

    def all(self) -> list[Key]:
        """Every key that can be read, the newest first."""
        self._folder.check()
        found = [self._read(name) for name in self._records.names() if _ID.fullmatch(name)]
        return sorted((key for key in found if key is not None), key=lambda key: key.created_ms, reverse=True)

    def revoke(self, key_id: str) -> None:
        """Remove a key; the next request that comes with it is refused. Raises NotFound."""
        if _ID.fullmatch(key_id):
            with suppress(NotFound):
                self._records.remove(key_id)
                return
        raise NotFound(
            f"no key `{names.shorten(names.show(key_id.encode()), 40)}`", hint="see `deskshell keys list`"
        )

    def check(self, text: str, now_ms: int) -> Key | None:
        """The key that `text` is, if it is one, was not revoked and has not expired."""
        found = _KEY.fullmatch(text)
        key = self._read(found[1]) if found is not None else None
        # An unknown id takes as long as a known one: there is always something to compare with.
        known = key.sha256 if key is not None else "0" * 64
        same = hmac.compare_digest(known, _hash(found[2] if found is not None else ""))
        return key if same and key is not None and not key.expired(now_ms) else None

    def _read(self, key_id: str) -> Key | None:
        try:
            data = self._records.get(key_id)
            told = {} if data is None else json.loads(data)
            return Key(
                told["id"],
                told["name"],
                tuple(told["scopes"]),
                told["createdMs"],
                told["expiresMs"],
                told["sha256"],
            )
        except (StateFolderError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _make_folder(self) -> None:
        self._folder.create()
        try:
            with suppress(FileExistsError):
                os.mkdir(self._records.folder, 0o700)
        except OSError as exc:
            raise StateFolderError(f"`{self._records.folder}` cannot be made: {exc.strerror}") from exc


def _hash(random: str) -> str:
    return hashlib.sha256(random.encode("ascii")).hexdigest()
