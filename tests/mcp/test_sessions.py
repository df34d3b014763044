"""Since when a caller has been here: what lies before that is a person's to take back."""

from __future__ import annotations

import pytest

from deskshell.mcp.callers import IDLE_S, Caller, Sessions
from deskshell.mcp.service import Waiting

LOCAL = Caller("uid:1000", None, "local")
KEY = Caller("key:a", frozenset(("undo",)), "")


class World:
    """A journal that grows and a clock that is set."""

    def __init__(self) -> None:
        self.seq, self.now_s = 10, 0.0
        self.sessions = Sessions(lambda: self.seq, lambda: self.now_s)


@pytest.fixture
def world():
    return World()


def test_a_session_begins_with_the_first_call_and_stays(world):
    assert world.sessions.seen(LOCAL) == 10
    world.seq = 20
    assert world.sessions.seen(LOCAL) == 10
    world.now_s += 10 * IDLE_S
    assert world.sessions.seen(LOCAL) == 10, "the process on the pipe is one session, however long it waits"


def test_a_key_without_a_session_of_the_transport_begins_anew_after_a_silence(world):
    assert world.sessions.seen(KEY) == 10
    world.seq = 20
    world.now_s += IDLE_S - 1
    assert world.sessions.seen(KEY) == 10
    world.now_s += IDLE_S - 1
    assert world.sessions.seen(KEY) == 10, "each call counts"
    world.now_s += IDLE_S + 1
    assert world.sessions.seen(KEY) == 20


def test_sessions_of_one_key_and_keys_of_one_server_are_apart(world):
    one, two = Caller("key:a", None, "s1"), Caller("key:a", None, "s2")
    assert world.sessions.seen(one) == 10
    world.seq = 20
    assert world.sessions.seen(two) == 20
    assert world.sessions.seen(Caller("key:b", None, "s1")) == 20
    assert world.sessions.seen(one) == 10


def test_an_answer_is_used_up_once():
    waiting = Waiting(lambda: 0.0)
    waited = waiting.put("what was asked for", object())
    assert waiting.get("what was asked for") == waited
    assert waiting.take(waited)
    assert not waiting.take(waited)
    assert waiting.get("what was asked for") is None


def test_a_newer_question_takes_the_place_of_the_older_but_not_its_answer():
    waiting = Waiting(lambda: 0.0)
    old, new = waiting.put("x", object()), waiting.put("x", object())
    assert waiting.get("x") == new
    assert waiting.take(old)
    assert waiting.take(new)


def test_questions_are_forgotten_after_a_while_and_when_there_are_many():
    now_s = [0.0]
    waiting = Waiting(lambda: now_s[0])
    waiting.put("x", object())
    now_s[0] = 601.0
    assert waiting.get("x") is None
    for n in range(100):
        waiting.put(str(n), object())
    assert waiting.get("0") is None
    assert waiting.get("99") is not None
