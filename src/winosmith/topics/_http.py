"""`HttpTopics`: topics from an https address."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from winosmith.errors import InputError
from winosmith.topics._drawing import drawn
from winosmith.topics._fetch import Fetch, fetch_https
from winosmith.topics._record import topic_of_record, topic_of_text
from winosmith.topics._topic import Topic

__all__ = ["HttpTopics"]

MOST_KEPT = 500
"""Topics that a process keeps from an address; the oldest make room."""


@dataclass(eq=False)
class HttpTopics:
    """What an https address answers: a topic, a list of topics (JSON), or a plain text.

    Topics that came stay in memory, and a draw is among them: after each pause the address is
    asked again and what is new joins them. When it can't be asked, they serve on. Which topic a
    seed draws hangs on what has come so far.

    Attributes:
        url: https alone.
        pause: seconds between two questions; after one that failed, thirty times as long.
        fetch: asks, within limits of time and size.

    Raises:
        InputError: the address is not https.
    """

    url: str
    pause: float = 2.0
    fetch: Fetch = field(default=fetch_https, repr=False)
    _kept: dict[tuple[str, str], Topic] = field(default_factory=dict, init=False, repr=False)
    _next: float = field(default=0.0, init=False, repr=False)
    _reason: str = field(default="", init=False, repr=False)
    _asking: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname or parts.username:
            raise InputError(f"topics come from https://… alone, not from {self.url!r}")

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        if self._asking.acquire(blocking=not self._kept):
            try:
                if time.monotonic() >= self._next:
                    self._ask()
            finally:
                self._asking.release()
        kept = list(self._kept.values())
        where = f"{self.url} ({self._reason})" if self._reason and not kept else self.url
        return drawn(len(kept), kept.__getitem__, seed, where)

    def _ask(self) -> None:
        """Add what the address answers to what is kept."""
        try:
            body, kind = self.fetch(self.url)
            came = _topics(body, kind, urlsplit(self.url).hostname or self.url)
            self._reason, wait = "", self.pause
        except InputError as error:
            came, self._reason, wait = [], str(error), 30 * self.pause
        kept = dict(self._kept)
        for topic in came:
            kept.setdefault((topic.title, topic.text), topic)
        self._kept = dict(list(kept.items())[-MOST_KEPT:])
        self._next = time.monotonic() + wait


def _topics(body: bytes, kind: str, source: str) -> list[Topic]:
    """Return the topics of an answer of a media type ("application/json", "text/plain")."""
    try:
        text = body.decode("utf-8")
        if kind in ("text/plain", "text/markdown"):
            return [topic_of_text(text, source)]
        if kind != "application/json":
            raise InputError(f"the answer is {kind!r}; application/json or text/plain is needed")
        found = json.loads(text)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"the answer can't be read: {error}") from None
    records = found if isinstance(found, list) else [found]
    return [topic_of_record(record, source) for record in records]
