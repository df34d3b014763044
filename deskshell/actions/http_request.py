"""`http.request`: send one HTTP request. What the server made of it, no kernel can take back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from deskshell.errors import Conflict, ManifestError, StepFailed
from deskshell.kernel.action import Action, Example, Param, Prior, Reversibility
from deskshell.kernel.capability import NET_REQUEST, Need, Scope, UrlTarget
from deskshell.kernel.context import Context
from deskshell.kernel.secrets import SecretText
from deskshell.kernel.view import View
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from urllib.request import OpenerDirector, Request

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f-\U0010ffff\\]")  # what is not ASCII is to be percent-encoded
_READ_BYTES = 1 << 16  # of the answer, which is not kept


@slotted(frozen=True)
class HttpRequest(Action):
    """One request to `url`. Its answer's status must be `expect`, or any 2xx without one.

    Secrets may stand in `headers` and `body`, and nowhere else: a URL is printed and recorded. A
    redirect is followed for GET and HEAD only, and only to below `url` itself, so never out of the
    granted scope. Undone by what the manifest gives as `undo`, or not at all.
    """

    kind: ClassVar[str] = "http.request"
    makes: ClassVar[str] = ""
    reversibility: ClassVar[Reversibility] = Reversibility.COMPENSATED
    alone: ClassVar[bool] = True
    params: ClassVar[tuple[Param, ...]] = (
        Param("method", "choice", "the method, in capitals", choices=_METHODS),
        Param("url", "text", "an http or https URL, without secrets"),
        Param("headers", "table", "header names and values", required=False, default=()),
        Param("body", "template", "the body as text", required=False),
        Param("expect", "int", "the status the answer must have; any 2xx when left out", required=False),
        Param("timeout_s", "int", "seconds to wait for the server each time", required=False, default=30),
    )

    method: str
    url: str
    headers: tuple[tuple[str, SecretText], ...] = ()
    body: SecretText | None = None
    expect: int | None = None
    timeout_s: int = 30

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # brackets that do not close, a port that is no number
            known = False
        if not known:
            raise ManifestError(f"`url` of `{self.kind}` is no http or https URL")
        if _NOT_IN_URL.search(self.url) or "@" in parts.netloc or parts.fragment:
            raise ManifestError(
                f"`url` of `{self.kind}` has spaces, user information or a fragment",
                hint="percent-encode it; a secret belongs into a header",
            )
        for name, value in self.headers:
            if not _TOKEN.fullmatch(name) or _breaks_line(value.masked()):
                raise ManifestError(f"`headers` of `{self.kind}`: a name or value is no header of one line")
        if not 1 <= self.timeout_s <= 3600:
            raise ManifestError(f"`timeout_s` of `{self.kind}` is not between 1 and 3600")

    def needs(self) -> Sequence[Need]:
        return [Need(NET_REQUEST, UrlTarget(self.url))]

    def touches(self) -> Sequence[bytes]:
        return ()

    def summary(self) -> str:
        return f"{self.method} {self.target()}"[:190]

    def target(self) -> str:
        return UrlTarget(self.url).show()  # without the query, which may hold what is not to be printed

    def simulate(self, view: View, step: str) -> None:
        """The tree stays as it is."""

    def prepare(self, ctx: Context) -> Prior:
        self._revealed(ctx.secrets)  # a missing value is found before anything is sent
        return Prior()

    def do(self, ctx: Context, prior: Prior) -> None:
        """Send it. `ctx.outcome` says whether it went out (`sent`), and the `status` of the answer."""
        headers, body = self._revealed(ctx.secrets)
        ctx.outcome = {"sent": False}
        ctx.stop()
        status = self._send(ctx, headers, body)
        ctx.outcome = {"sent": True, "status": status}
        if status == self.expect or (self.expect is None and 200 <= status < 300):
            return
        wanted = "2xx" if self.expect is None else str(self.expect)
        raise StepFailed(
            f"`{self.summary()}` was answered with {status}, not {wanted}",
            hint="redirects are not followed" if 300 <= status < 400 else None,
        )

    def undo(self, ctx: Context, prior: Prior) -> bool:
        """Nothing to take back if it is known not to have been sent; else Conflict: nobody can."""
        if ctx.outcome.get("sent") is False:
            return False
        raise Conflict(
            f"`{self.summary()}` may have been carried out; it cannot be undone", verdict="no-undo"
        )

    def _revealed(self, secrets: Mapping[str, str]) -> tuple[dict[str, str], bytes | None]:
        headers = {name: value.reveal(secrets) for name, value in self.headers}
        for name, value in headers.items():
            if _breaks_line(value):  # said here, since the library's own error quotes the value
                raise StepFailed(f"header `{name}` would hold more than one line of printable Latin-1")
        return headers, None if self.body is None else self.body.reveal(secrets).encode("utf-8")

    def _send(self, ctx: Context, headers: Mapping[str, str], body: bytes | None) -> int:
        import http.client
        import urllib.error
        import urllib.request

        request = urllib.request.Request(self.url, body, method=self.method)
        request.add_header("User-Agent", "deskshell")
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            with _opener(self).open(request, timeout=self.timeout_s) as answer:
                answer.read(_READ_BYTES)
                return int(answer.status)
        except urllib.error.HTTPError as exc:
            exc.close()
            return exc.code
        except urllib.error.URLError as exc:
            if _never_sent(exc.reason):
                raise StepFailed(f"`{self.summary()}` was not sent: {_reason(exc.reason)}") from None
            ctx.outcome = {"sent": True}
            raise self._unanswered(exc.reason) from None
        except (http.client.HTTPException, OSError) as exc:
            ctx.outcome = {"sent": True}
            raise self._unanswered(exc) from None

    def _unanswered(self, reason: object) -> StepFailed:
        return StepFailed(
            f"`{self.summary()}` got no answer: {_reason(reason)}",
            hint="it may have been carried out; ask the server before trying again",
        )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        url = "http://127.0.0.1:9/form"
        yield Example({}, {"method": "POST", "url": url, "body": "a=1", "headers": {"Accept": "text/plain"}})
        yield Example(
            {}, {"method": "DELETE", "url": url + "/7?x=1", "expect": 204}, "with a status to expect"
        )


def _breaks_line(value: str) -> bool:
    return any(not char.isprintable() or ord(char) > 255 for char in value)


def _never_sent(reason: object) -> bool:
    """True for failures that come before the first byte of a request: no name, no route, no listener."""
    import socket
    import ssl

    return isinstance(reason, (socket.gaierror, ConnectionRefusedError, ssl.SSLCertVerificationError))


def _reason(reason: object) -> str:
    """What went wrong, in words that cannot hold a header or a body."""
    if isinstance(reason, TimeoutError):
        return "timed out"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason).__name__


def _opener(action: HttpRequest) -> OpenerDirector:
    import urllib.request

    within = Scope(action.url, action.url)

    class Below(urllib.request.HTTPRedirectHandler):
        """Follows a redirect of GET and HEAD to below the URL asked for, and no other."""

        def redirect_request(self, *args: Any) -> Request | None:
            new_url = args[-1]
            if action.method not in ("GET", "HEAD") or not UrlTarget(str(new_url)).within(within):
                return None  # the redirect is the answer
            return super().redirect_request(*args)

    return urllib.request.build_opener(Below)
