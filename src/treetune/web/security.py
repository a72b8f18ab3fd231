"""Who may send which requests: tokens, the Host and Origin of requests, CSRF tokens, limits of size, headers of pages.

A request of a browser that changes something must come from a page of this server (Origin) and carry the CSRF token of
that page, which belongs to the session cookie. Programs send neither Origin nor cookies and need no CSRF token: what
protects them is that no web page can send such a request.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treetune.web.settings import Limits, is_loopback

SESSION, LOGIN = "treetune_session", "treetune_login"
SAFE = ("GET", "HEAD", "OPTIONS")
LARGE = ("/api/v1/batch", "/api/v1/projects")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Refused(Exception):  # noqa: N818 - an answer to a client, not a fault
    """A request that is refused, with the status and the sentence of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Guard:
    """What decides on requests.

    Args:
        secret: Makes the CSRF tokens and login cookies; kept over restarts, so that open pages stay valid.
        tokens: Who may use the server; empty for a server on loopback that asks for none.
        limits: Of the size of requests.
    """

    def __init__(self, secret: bytes, tokens: tuple[str, ...], limits: Limits) -> None:
        self._secret, self._limits = secret, limits
        self._owners = {self._sign("login", token): self._sign("owner", token)[:16] for token in tokens}

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()

    def csrf_token(self, session: str) -> str:
        """Return the CSRF token of a session."""
        return self._sign("csrf", session)

    def login(self, token: str) -> str | None:
        """Return the cookie for a token, None for a wrong one."""
        cookie = self._sign("login", token)
        return cookie if cookie in self._owners else None

    def owner(self, headers: Headers, cookies: dict[str, str]) -> str | None:
        """Return whose projects a request may see, None if it has no valid token."""
        if not self._owners:
            return ""
        kind, _, token = headers.get("authorization", "").partition(" ")
        given = self._sign("login", token.strip()) if kind.lower() == "bearer" else cookies.get(LOGIN, "")
        return self._owners.get(given)

    def check(self, scope: Scope, headers: Headers, cookies: dict[str, str]) -> None:
        """Raise Refused for a request that must not be answered."""
        self._check_host(headers)
        if int(headers.get("content-length") or 0) > self.body_limit(scope["path"]):
            raise self.too_large(scope["path"])
        if scope["method"] not in SAFE:
            self._check_origin(headers, cookies, scope["path"])

    def _check_host(self, headers: Headers) -> None:
        """A page elsewhere may give its name the address of this machine: without tokens, only our names are served."""
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        if not self._owners and not is_loopback(host):
            raise Refused(403, f"expected a request to localhost, found the host {host!r}; open http://localhost")

    def _check_origin(self, headers: Headers, cookies: dict[str, str], path: str) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            raise Refused(403, f"expected a request from a page of this server, found one from {origin}")
        if site not in (None, "same-origin", "none"):
            raise Refused(403, f"expected a request from a page of this server, found a {site} one")
        # The header with a token is not sent by a browser of its own accord, as cookies are.
        if path == "/login" or "authorization" in headers or not (origin or site or cookies):
            return
        given = headers.get("x-csrf-token", "")
        if SESSION not in cookies or not hmac.compare_digest(given, self.csrf_token(cookies[SESSION])):
            raise Refused(403, "expected the CSRF token of this page, found none or an old one; load the page again")

    def body_limit(self, path: str) -> int:
        """Return how many bytes a request may have."""
        return self._limits.batch_body if path in LARGE else self._limits.body

    def too_large(self, path: str) -> Refused:
        """Return the answer to a request that is too large."""
        return Refused(413, f"expected at most {self.body_limit(path):,} bytes, found more; send less at a time")


class Security:
    """The layer around all routes that asks the guard, and sets the headers of answers."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        cookies = _cookies(headers)
        new_session = "" if SESSION in cookies else secrets.token_urlsafe(24)
        started, received = False, 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._guard.body_limit(path):
                raise self._guard.too_large(path)
            return message

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                answer = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answer.setdefault(name, value)
                if not path.startswith("/static/"):
                    answer.setdefault("Cache-Control", "no-store")
                if new_session and "text/html" in answer.get("content-type", ""):
                    answer.append("Set-Cookie", f"{SESSION}={new_session}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        try:
            self._guard.check(scope, headers, cookies)
            owner = self._guard.owner(headers, cookies)
            if owner is None and path != "/login" and not path.startswith("/static/"):
                if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
                    await _answer(with_headers, 303, b"", location="/login")
                    return
                raise Refused(401, "expected a token of this server; send the header 'Authorization: Bearer TOKEN'")
            session = cookies.get(SESSION, new_session)
            scope.setdefault("state", {}).update(owner=owner or "", csrf=self._guard.csrf_token(session))
            await self._app(scope, counted, with_headers)
        except Refused as refused:
            if not started:
                content = json.dumps({"error": refused.message}).encode()
                await _answer(with_headers, refused.status, content, content_type="application/json")


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


async def _answer(send: Send, status: int, body: bytes, **headers: str) -> None:
    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
