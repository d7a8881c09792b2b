"""Topics for contributors: short texts, with anchor words that contributors must use.

WinoGrande's contributors received anchor words from a random article (section 2), which makes
sentences more varied. A source of topics is a folder of texts, a JSON Lines file, an https URL, or
the how-to articles in this package (`topics.jsonl`).

>>> from winosmith import topics
>>> topic = topics.load_built_in_topics().draw(seed=7)
>>> topic == topics.load_built_in_topics().draw(seed=7), len(topic.anchors)
(True, 3)
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np

from winosmith.errors import FormatError, InputError
from winosmith.fetch import HEADERS
from winosmith.records import parse_json, parse_json_lines, read_text
from winosmith.text import FUNCTION_WORDS, tokenize

ANCHORS = 3
"""Number of anchor words per topic; a sentence must contain at least one of them."""

_WORD = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*")
"""An anchor word: three or more letters, possibly with hyphens ("cross-country")."""

_FOR_TOPICS, _FOR_ANCHORS = range(2)
"""Purposes of random numbers; each has its own generator."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A short text, with anchor words drawn from it.

    Attributes:
        title: the title, on one line.
        text: plain text with empty lines between paragraphs.
        anchors: the drawn words, in lower case; empty before a draw.
        domain: "social" or "physical" if the source states it.
        source: name of the source: a file, a host or "winosmith".
    """

    title: str
    text: str
    anchors: tuple[str, ...] = ()
    domain: str | None = None
    source: str = ""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The distinct words that can be anchors, in lower case and alphabetical order.

        Function words ("the, it, he, of") can't be anchors (WinoGrande, section 2). Neither can
        names, which never occur in lower case.

        >>> Topic("Tea", "Ann boils the water for Ann's tea. Water that boiled is hot.").candidates
        ('boiled', 'boils', 'hot', 'tea', 'water')
        """
        lower = {one for one in tokenize(self.text) if one.islower() and _WORD.fullmatch(one)}
        return tuple(sorted(w for w in lower if not FUNCTION_WORDS.intersection(w.split("-"))))

    def draw_anchors(self, seed: int, count: int = ANCHORS) -> tuple[str, ...]:
        """Draw distinct anchor words from the candidates, which are equally likely.

        Args:
            seed: random seed, 0 or more.
            count: maximum number of words, 1 or more; the text may have fewer.

        Raises:
            InputError: `seed` or `count` is out of range, or no word can be an anchor.
        """
        if count < 1:
            raise InputError(f"the number of anchor words is {count}; it must be 1 or more")
        candidates = self.candidates
        if not candidates:
            raise InputError(f"the topic {self.title!r} has no word that can be an anchor")
        drawn = _make_rng(seed, _FOR_ANCHORS).permutation(len(candidates))[:count]
        return tuple(candidates[number] for number in drawn)

    def with_anchors(self, seed: int, count: int = ANCHORS) -> Topic:
        """Return a copy of the topic with anchor words; see `draw_anchors`."""
        return replace(self, anchors=self.draw_anchors(seed, count))


_MAX_TRIES = 50
"""Number of consecutive unusable topics after which a source is rejected."""


@dataclass(frozen=True)
class TopicList:
    """Listed topics, of which those that can't be read are skipped.

    Attributes:
        source: name of the source, for errors.
        items: the topics, or where `read` finds them.
        read: returns the topic of an item; None if the items are topics.
    """

    source: str
    items: Sequence[Any] = field(repr=False)
    read: Callable[[Any], Topic] | None = field(default=None, repr=False)

    def draw(self, seed: int) -> Topic:
        """Return a random topic with anchor words; all topics are equally likely.

        A seed determines the topic and its anchor words.

        Raises:
            InputError: there are no topics; the message states the reason.
        """
        if not self.items:
            raise InputError(f"{self.source} has no topics")
        reason = ""
        for number in _make_rng(seed).permutation(len(self.items))[:_MAX_TRIES]:
            item = self.items[number]
            try:
                return (self.read(item) if self.read else item).with_anchors(seed)
            except InputError as error:
                reason = reason or str(error)
        raise InputError(f"{self.source} has no usable topic: {reason}")


def _make_rng(seed: int, purpose: int = _FOR_TOPICS) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"the seed is {seed}; it must be 0 or more")
    return np.random.default_rng([seed, purpose])


_SUFFIXES = (".txt", ".md")


def list_folder(folder: str | Path) -> TopicList:
    """List the text files (.txt, .md; UTF-8) in a folder and its subfolders.

    The title is the text's heading or, without a heading, the file name. Files are read when they
    are drawn.

    Raises:
        InputError: the path is not a folder, or the folder contains no texts.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is not a folder")
    found = (path for path in place.rglob("*") if path.suffix.lower() in _SUFFIXES)
    paths = sorted(path for path in found if path.is_file())
    if not paths:
        raise InputError(f"{place} contains no .txt or .md files")
    return TopicList(str(place), paths, _read_topic)


def _read_topic(path: Path) -> Topic:
    text = read_text(path)
    title = path.stem.replace("_", " ").replace("-", " ").strip() or path.name
    return _parse_text(text, path.name, title[:1].upper() + title[1:])


def read_jsonl(path: str | Path, *, source: str = "") -> TopicList:
    """Read a JSON Lines file of objects with "title", "text" and, optionally, "domain".

    Raises:
        FormatError: the file can't be read, or a line is not a topic.
    """
    topics, name = [], source or Path(path).name
    for number, record in parse_json_lines(read_text(path), path):
        try:
            topics.append(_parse_record(record, name))
        except InputError as error:
            raise FormatError(str(error), path, number) from None
    if not topics:
        raise FormatError("the file contains no topics", path)
    return TopicList(str(path), topics)


@cache
def load_built_in_topics() -> TopicList:
    """Load this package's topics: how-to articles, half of them social and half physical.

    They were written for winosmith and have the same licence (Apache-2.0).
    """
    with resources.as_file(resources.files("winosmith") / "topics.jsonl") as path:
        return read_jsonl(path, source="winosmith")


Fetch = Callable[[str], tuple[bytes, str]]
"""A function that requests a URL and returns the body and the media type of the response."""

MAX_BYTES = 2_000_000

MAX_SECONDS = 5.0

CHUNK = 16 * 1024


def fetch_https(
    url: str, *, max_bytes: int = MAX_BYTES, timeout: float = MAX_SECONDS
) -> tuple[bytes, str]:
    """Request an https URL, and return the body and the media type of the response.

    Args:
        url: an https URL; redirects to another host are refused.
        max_bytes: maximum size of the body.
        timeout: maximum number of seconds for the connection, and for the whole response.

    Raises:
        InputError: the URL can't be reached or responds with an error, or the response is too slow
            or too large.
    """
    import requests
    import urllib3

    if urlsplit(url).scheme != "https":
        raise InputError(f"topics must have an https:// URL, not {url!r}")
    until = time.monotonic() + timeout
    try:
        with requests.get(
            url,
            headers=HEADERS | {"Accept": "application/json, text/plain"},
            hooks={"response": _check_redirect},
            stream=True,
            timeout=timeout,
        ) as response:
            response.raise_for_status()
            body = b""
            while part := response.raw.read1(CHUNK):
                body += part
                if len(body) > max_bytes:
                    raise InputError(f"the response from {url} is larger than {max_bytes:,} bytes")
                if time.monotonic() > until:
                    raise InputError(f"the response from {url} took too long; try again later")
    except (OSError, urllib3.exceptions.HTTPError) as error:
        raise InputError(f"{url} can't be read: {error}") from None
    return body, response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _check_redirect(response: Any, **_: Any) -> None:
    """Raise InputError if a response redirects to another scheme, host or port."""
    if response.is_redirect:
        target = urlsplit(urljoin(response.url, response.headers["Location"]))
        if target[:2] != urlsplit(response.url)[:2]:
            raise InputError(
                f"{response.url} redirects to another site ({target.hostname}); give the final URL"
            )


_MAX_CACHED_TOPICS = 500
"""Maximum number of topics that a process caches per URL; the oldest are removed."""


@dataclass(eq=False)
class HttpTopics:
    """Topics from an https URL, which returns one or several topics as JSON, or plain text.

    Topics are cached in memory and drawn from the cache. After a pause, the next draw first
    requests new topics. If the request fails, the cache is used. A seed's topic thus depends on the
    topics that have been received.

    Attributes:
        url: an https URL.
        pause: number of seconds between two requests; after a failure, it is 30 times as long.
        fetch: a function that makes a request, with limits on time and size.

    Raises:
        InputError: the URL is not https.
    """

    url: str
    pause: float = 2.0
    fetch: Fetch = field(default=fetch_https, repr=False)
    _cached: dict[tuple[str, str], Topic] = field(default_factory=dict, init=False, repr=False)
    _next_refresh: float = field(default=0.0, init=False, repr=False)
    _failure_reason: str = field(default="", init=False, repr=False)
    _refresh_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname or parts.username:
            raise InputError(f"topics must have an https:// URL, not {self.url!r}")

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `TopicList.draw`."""
        if self._refresh_lock.acquire(blocking=not self._cached):
            try:
                if time.monotonic() >= self._next_refresh:
                    self._refresh()
            finally:
                self._refresh_lock.release()
        cached = list(self._cached.values())
        where = self.url
        if self._failure_reason and not cached:
            where += f" ({self._failure_reason})"
        return TopicList(where, cached).draw(seed)

    def _refresh(self) -> None:
        try:
            body, kind = self.fetch(self.url)
            came = _parse_response(body, kind, urlsplit(self.url).hostname or self.url)
            self._failure_reason, wait = "", self.pause
        except InputError as error:
            came, self._failure_reason, wait = [], str(error), 30 * self.pause
        cached = dict(self._cached)
        for topic in came:
            cached.setdefault((topic.title, topic.text), topic)
        self._cached = dict(list(cached.items())[-_MAX_CACHED_TOPICS:])
        self._next_refresh = time.monotonic() + wait


def _parse_response(body: bytes, mime: str, source: str) -> list[Topic]:
    try:
        text = body.decode("utf-8")
        found = parse_json(text) if mime == "application/json" else None
    except ValueError as error:
        raise InputError(f"the response can't be read: {error}") from None
    if mime in ("text/plain", "text/markdown"):
        return [_parse_text(text, source)]
    if mime != "application/json":
        raise InputError(f"the response is {mime!r}; it must be application/json or text/plain")
    records = found if isinstance(found, list) else [found]
    return [_parse_record(record, source) for record in records]


@lru_cache(maxsize=8)
def open_topics(source: str | None, base: Path | None = None) -> TopicList | HttpTopics:
    """Open a source of topics, once per process.

    Args:
        source: a folder of .txt and .md files, a .jsonl file, an https URL, or None for the
            articles of this package.
        base: the folder for relative paths; None for the working directory.

    Raises:
        InputError: the folder or file does not exist or is unusable.
    """
    if source is None:
        return load_built_in_topics()
    if "://" in source:
        return HttpTopics(source)
    path = (base or Path()) / Path(source).expanduser()
    if path.is_dir():
        return list_folder(path)
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        return read_jsonl(path)
    raise InputError(
        f"topics is {source!r}, which is neither a folder of texts, a .jsonl file nor an https "
        f"URL (tried {path.absolute()})"
    )


MAX_TITLE_LENGTH, MAX_TEXT_LENGTH, MAX_DOMAIN_LENGTH = 200, 20_000, 40
"""Maximum lengths of titles, texts and domains, in characters; longer ones are truncated."""

_TOPIC_KEYS = ("title", "text", "domain")


def _parse_record(record: Any, source: str) -> Topic:
    if not isinstance(record, dict):
        raise InputError(f"a topic must be an object with a title and a text, not {record!r:.60}")
    for key in _TOPIC_KEYS:
        value = record.get(key)
        if not isinstance(value, str) and not (key == "domain" and value is None):
            raise InputError(f"the topic's {key!r} must be text, not {value!r:.60}")
    domain = _to_line(record.get("domain") or "")[:MAX_DOMAIN_LENGTH]
    return _make_topic(record["title"], record["text"], domain or None, source)


def _parse_text(text: str, source: str, title: str = "") -> Topic:
    """Parse a topic from a plain text, whose first line may be a heading.

    A heading is marked as in Markdown ("# How to fold a map"), or is followed by an empty line. The
    heading becomes the title; without a heading, `title` is used.
    """
    head, _, rest = text.lstrip("\ufeff \n\r\t").partition("\n")
    marked = re.fullmatch(r"#{1,6}\s+(.+?)\s*#*\s*", head)
    alone = rest.strip() and not rest.split("\n", 1)[0].strip()
    if marked:
        return _make_topic(marked[1], rest, None, source)
    if alone and len(head) <= MAX_TITLE_LENGTH:
        return _make_topic(head, rest, None, source)
    return _make_topic(title or head, text, None, source)


def _make_topic(title: str, text: str, domain: str | None, source: str) -> Topic:
    title, text = _to_line(title), re.sub(r"\s*\n\s*\n\s*", "\n\n", _strip_invisible(text)).strip()
    if not title or not text:
        raise InputError(f"the topic {title!r} has no {'text' if title else 'title'}")
    return Topic(
        _truncate(title, MAX_TITLE_LENGTH), _truncate(text, MAX_TEXT_LENGTH), (), domain, source
    )


def _to_line(text: str) -> str:
    return " ".join(_strip_invisible(text).split())


def _strip_invisible(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "ignore").decode()
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())


def _truncate(text: str, max_length: int) -> str:
    if len(text) <= max_length:
        return text
    return text[: max_length - 1].rsplit(maxsplit=1)[0] + "…"
