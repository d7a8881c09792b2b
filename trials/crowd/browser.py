"""A headless browser: one persistent connection, cookies, and forms parsed from pages."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

TAG = re.compile(r"<(/?)(form|input|textarea|button|select|option)\b([^>]*)>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")


class UnansweredError(OSError):
    """The server did not respond, so the result of the request is unknown."""


@dataclass
class Form:
    """A form on a page: its target, the values that it would send, its buttons and choices."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Page:
    """The server's response; `path` is its URL, `location` the target of a redirect."""

    status: int
    path: str
    location: str
    text: str

    @property
    def acknowledged(self) -> bool:
        """Whether the server confirms the requested action."""
        return 200 <= self.status < 400

    def forms(self) -> list[Form]:
        """Return the page's forms."""
        return _forms(self.text, self.path)

    def form(self, path: str = "", *, having: str = "") -> Form | None:
        """Return the first form with an action ending in `path`, or with the field `having`."""
        for form in self.forms():
            there = not having or having in form.fields or having in form.choices
            if there and form.action.endswith(path):
                return form
        return None


class Browser:
    """The browser of one person."""

    def __init__(self, url: str, timeout: float = 60):
        parts = urlsplit(url)
        self.host, self.port, self.timeout = str(parts.hostname), parts.port, timeout
        self.cookies: dict[str, str] = {}
        self.connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Page:
        """Fetch a page; redirects are not followed."""
        return self._ask("GET", path, None)

    def open(self, path: str) -> Page:
        """Fetch a page; redirects are followed."""
        page = self.get(path)
        for _ in range(5):
            if not page.location:
                break
            page = self.get(page.location)
        return page

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Page:
        """Send a form with the cookie's CSRF token, as a page of the site would."""
        return self._ask("POST", path, urlencode(fields), **headers)

    def send(self, form: Form, headers: Mapping[str, str] | None = None, /, **changes: str) -> Page:
        """Send a form of a page with the typed values and additional headers."""
        return self.post(form.action, {**form.fields, **changes}, **(headers or {}))

    def twin(self) -> Browser:
        """Return another window of the same browser, with its cookies and a separate connection."""
        other = Browser(f"http://{self.host}:{self.port}", self.timeout)
        other.cookies = self.cookies
        return other

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _ask(self, method: str, path: str, body: str | None, **more: str) -> Page:
        headers = {"Cookie": "; ".join(f"{key}={value}" for key, value in self.cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["Origin"] = f"http://{self.host}:{self.port}"
        try:
            answer, data = self._exchange(method, path, body, {**headers, **more})
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise UnansweredError(f"{method} {path}: {error!r}") from error
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, rest = cookie.partition("=")
            value = rest.partition(";")[0]
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        location = answer.headers.get("Location") or ""
        where = urljoin(path, location) if location else ""
        return Page(answer.status, path, where, data.decode("utf-8", "replace"))

    def _exchange(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request; repeat it if the server has closed the connection meanwhile.

        Only a GET whose connection was reset before the first byte of the response is repeated. A
        form is sent again by the caller, who knows its key.
        """
        for again in (True, False):
            fresh = self.connection is None
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(
                        self.host, self.port, timeout=self.timeout
                    )
                    self.connection.connect()
                    self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                data = answer.read()
                if answer.will_close:
                    self.close()
                return answer, data
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh or not again or method != "GET":
                    raise
        raise AssertionError("unreachable")


def _forms(text: str, path: str) -> list[Form]:
    forms: list[Form] = []
    now: Form | None = None
    area = choice = ""
    area_from = 0
    for tag in TAG.finditer(text):
        closing, name, rest = tag[1] == "/", tag[2].lower(), tag[3]
        if closing:
            if name == "textarea" and now is not None and area:
                now.fields[area] = unescape(text[area_from : tag.start()]).lstrip("\n")
                area = ""
            elif name == "form":
                now = None
            continue
        has = {m[1].lower(): unescape(m[2] or m[3] or m[4] or "") for m in ATTRIBUTE.finditer(rest)}
        if name == "form":
            action = urljoin(path, has.get("action") or path).partition("#")[0]
            now = Form(action, has.get("method", "get").lower())
            forms.append(now)
        elif now is not None and "disabled" not in has:
            key = has.get("name", "")
            if name == "textarea":
                area, area_from = key, tag.end()
            elif name == "select":
                choice = key
                now.choices[key] = []
            elif name == "option":
                now.choices.setdefault(choice, []).append(has.get("value", ""))
                if "selected" in has or choice not in now.fields:
                    now.fields[choice] = has.get("value", "")
            elif key:
                _take(now, key, has, name)
    return forms


def _take(form: Form, key: str, has: dict[str, str], name: str) -> None:
    """Record the values that an input or a button would or could send."""
    kind = has.get("type", "submit" if name == "button" else "text").lower()
    if kind in ("radio", "checkbox", "submit"):
        form.choices.setdefault(key, []).append(has.get("value", "on"))
        if kind == "submit" or "checked" not in has:
            return
    form.fields[key] = has.get("value", "on" if kind == "checkbox" else "")
