"""Steps whose undo is a counter-action: sent once, on record at once, and never claimed when it is not known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from deskshell.errors import DeskshellError, IrreversibleError
from deskshell.kernel import record
from deskshell.kernel.assertion import Missing
from deskshell.kernel.secrets import SecretText
from tests.support.desk import Bench, Do, request, verdicts, write
from tests.support.seam import Kill, seam


class Server:
    """An HTTP server that notes what it was sent, and answers `status`."""

    def __init__(self) -> None:
        self.got: list[str] = []
        self.headers: list[str] = []
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                outer.got.append(f"{self.command} {self.path}")
                outer.headers.append(str(self.headers.get("Authorization")))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_DELETE = answer  # noqa: N815 - the names http.server asks for

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/form"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def step(self) -> Do:
        """A request with a counter-action."""
        return request(self.url).compensated_by(request(f"{self.url}/1", "DELETE"))


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on this machine; nothing leaves it."""
    found = Server()
    yield found
    found.close()


def test_it_needs_consent_to_run_forward(desk: Bench, server: Server) -> None:
    with pytest.raises(IrreversibleError):
        desk.run(server.step())

    assert server.got == []


def test_undo_sends_the_counter_action_once(desk: Bench, server: Server) -> None:
    desk.run(server.step(), write("n", "n"), allow_irreversible=True)

    report = desk.undo()

    assert verdicts(report) == ["undone", "compensated"]
    assert report.exit_code == 0
    assert desk.undo().tasks == []
    assert server.got == ["POST /form", "DELETE /form/1"]


def test_a_report_tells_a_counter_action_from_no_undo(desk: Bench, server: Server) -> None:
    report = desk.run(server.step(), request(server.url), write("n", "n"), allow_irreversible=True)

    found = [(step.reversible, step.compensated) for step in report.steps]
    assert found == [(False, True), (False, False), (True, False)]
    assert [step.get("compensated") for step in report.to_json()["steps"]] == [True, None, None]


def test_a_counter_action_that_fails_is_not_claimed_and_can_be_tried_again(
    desk: Bench, server: Server
) -> None:
    desk.run(server.step(), allow_irreversible=True)
    server.status = 500
    report = desk.undo()
    assert (verdicts(report), report.exit_code) == (["failed"], 1)

    server.status = 200

    assert verdicts(desk.undo()) == ["compensated"]


def test_a_failing_run_sends_it_too(desk: Bench, server: Server) -> None:
    report = desk.run(server.step(), write("n", "n").then(Missing(desk.path("n"))), allow_irreversible=True)

    assert report.status == "rolled-back"
    assert server.got == ["POST /form", "DELETE /form/1"]


def test_without_one_a_sent_request_is_left(desk: Bench, server: Server) -> None:
    report = desk.run(
        request(server.url), write("n", "n").then(Missing(desk.path("n"))), allow_irreversible=True
    )

    assert (report.status, report.exit_code) == ("incomplete", 3)
    assert [left.target for left in report.left] == [server.url]
    assert desk.names() == []


def test_what_remains_says_whether_an_undo_could_ever_help(desk: Bench, server: Server) -> None:
    """The journal says so as well: the report of a plan that was applied before is made from it."""
    report = desk.run(
        request(server.url), write("n", "n").then(Missing(desk.path("n"))), allow_irreversible=True
    )
    end = next(line for line in desk.lines() if line.get("type") == "end")

    assert [left.final for left in report.left] == [True]
    assert record.read_left(end["left"]) == report.left
    assert verdicts(desk.undo()) == ["no-undo"]


def test_a_request_with_a_counter_action_is_not_final_when_it_fails(desk: Bench, server: Server) -> None:
    """A rollback does not send what was not done as asked; a person who looked may have it sent."""
    server.status = 500
    report = desk.run(server.step(), allow_irreversible=True)
    server.status = 200

    assert [left.final for left in report.left] == [False]
    assert verdicts(desk.undo()) == ["compensated"]


def _sent_only(server: Server) -> list[str]:
    return [line for line in server.got if line.startswith("DELETE")]


def test_a_kill_after_it_was_written_down_does_not_send_it_again(tmp_path: Path, server: Server) -> None:
    """I1 for what the disk does not show: its line is written at once, and the undo goes on from there."""
    desk = _killed_once_written_down(tmp_path, server)

    (closed,) = desk.app.recover()

    assert (closed.role, closed.status) == ("undo", "incomplete")
    assert set(verdicts(desk.undo())) == {"undone"}
    assert _sent_only(server) == ["DELETE /form/1"]
    assert desk.names() == []
    assert desk.undo().tasks == []


def _killed_once_written_down(top: Path, server: Server) -> Bench:
    """A fresh desk whose undo was killed at the first change after the counter-action's line."""
    for at in range(3, 60):
        desk = Bench(top / str(at))
        desk.run(write("a", "a"), server.step(), write("b", "b"), allow_irreversible=True)
        server.got.clear()
        with seam(Kill(at)) as cut:
            desk.undo()
        assert cut.came
        if _sent_only(server) and "rolled-back" in [line.get("status") for line in desk.lines()]:
            return desk
    pytest.fail("the undo never got so far")


def _killed_right_after_sending(top: Path, server: Server, *, fails: bool) -> Bench:
    """A fresh desk that was killed between sending the counter-action and writing down that it was sent.

    By an undo, or, when the run `fails`, by its rollback.
    """
    for at in range(3, 90):
        desk = Bench(top / str(at))
        server.got.clear()
        if fails:
            with seam(Kill(at)):
                desk.run(
                    server.step(), write("n", "n").then(Missing(desk.path("n"))), allow_irreversible=True
                )
        else:
            desk.run(write("a", "a"), server.step(), allow_irreversible=True)
            with seam(Kill(at)):
                desk.undo()
        if _sent_only(server):
            return desk
    pytest.fail("the counter-action was never sent")


@pytest.mark.parametrize("fails", [False, True], ids=["undo", "rollback"])
def test_a_counter_action_that_may_have_been_sent_is_sent_again_only_by_force(
    tmp_path: Path, server: Server, fails: bool
) -> None:
    """I9 for what the disk does not show: once, and whether it was is left to the person to say."""
    desk = _killed_right_after_sending(tmp_path, server, fails=fails)

    (closed,) = desk.app.recover()

    assert closed.status == "incomplete"
    assert "may have been sent" in closed.left[0].reason
    assert "failed" in verdicts(desk.check())
    (refused,) = [entry for entry in desk.undo().tasks[0].entries if entry.verdict == "failed"]
    assert "`--force` sends it once more" in refused.reason
    assert _sent_only(server) == ["DELETE /form/1"]

    assert "compensated" in verdicts(desk.undo(force=True))

    assert _sent_only(server) == ["DELETE /form/1"] * 2
    assert desk.names() == []
    assert desk.undo().tasks == []


def test_a_request_that_may_have_been_sent_is_left_and_said(desk: Bench, server: Server) -> None:
    """I5: an intent without a result ends incomplete."""
    came = False
    for at in range(3, 30):
        desk.app.recover()
        with seam(Kill(at)) as cut:
            desk.run(request(server.url), allow_irreversible=True)
        if server.got:
            came = cut.came
            break
    assert came

    (report,) = desk.app.recover()

    assert report.status == "incomplete"
    assert [left.reason for left in report.left] == ["it may have been sent: no result was recorded"]
    assert verdicts(desk.undo()) in (["no-undo"], ["failed"])
    assert len(server.got) == 1


def test_a_secret_is_revealed_to_the_server_alone(desk: Bench, server: Server) -> None:
    """F41: neither journal, report nor error has its value."""
    header = (("Authorization", SecretText(("Bearer ", ("TOKEN",)))),)
    step = Do("http.request", {"method": "POST", "url": server.url, "headers": dict(header)}, paths=())
    server.status = 500

    report = desk.run(step, allow_irreversible=True, secrets={"TOKEN": "s3cr3t-value"})

    assert server.headers == ["Bearer s3cr3t-value"]
    assert b"s3cr3t-value" not in desk.journal_bytes()
    assert "s3cr3t-value" not in str(report.to_json())


def test_a_missing_secret_is_found_before_anything_is_sent(desk: Bench, server: Server) -> None:
    header = {"Authorization": SecretText((("TOKEN",),))}
    step = Do("http.request", {"method": "POST", "url": server.url, "headers": header}, paths=())

    with pytest.raises(DeskshellError, match="the secret `TOKEN` is needed"):
        desk.run(step, allow_irreversible=True)

    assert server.got == []


def test_a_compensation_without_its_secret_says_what_it_needs(desk: Bench, server: Server) -> None:
    header = {"Authorization": SecretText((("TOKEN",),))}
    counter = Do("http.request", {"method": "DELETE", "url": f"{server.url}/1", "headers": header}, paths=())
    desk.run(
        request(server.url).compensated_by(counter),
        allow_irreversible=True,
        secrets={"TOKEN": "s3cr3t-value"},
    )

    assert verdicts(desk.undo()) == ["needs-secret"]
    assert verdicts(desk.undo(secrets={"TOKEN": "s3cr3t-value"})) == ["compensated"]
    assert b"s3cr3t-value" not in desk.journal_bytes()
