"""Topics: short texts as prompts for contributors, and the anchor words that they must use.

WinoGrande's authors got a random article and selected anchor words from it (section 2): random
prompts make sentences differ. A source of topics is a folder of texts, a JSONL file, an https
address, or the how-to articles in this package (`topics.jsonl`).

>>> from winosmith import topics
>>> topic = topics.shipped().draw(seed=7)
>>> topic == topics.shipped().draw(seed=7), len(topic.anchors)
(True, 3)
"""

from __future__ import annotations

import re
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import numpy as np

from winosmith.errors import FormatError, InputError
from winosmith.fetch import HEADERS
from winosmith.records import parse_json
from winosmith.text import FUNCTION_WORDS, tokens

__all__ = [
    "FolderTopics",
    "HttpTopics",
    "JsonlTopics",
    "Topic",
    "Topics",
    "open_topics",
    "shipped",
]

ANCHORS = 3
"""Number of anchor words of a topic; the sentences contain at least one of them."""

_WORD = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*")
"""An anchor has three letters or more; a hyphen may join words ("cross-country")."""

_FOR_TOPICS, _FOR_ANCHORS = range(2)
"""The purposes of a seed's random numbers."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A short text, and the anchor words that were drawn from it.

    Attributes:
        title: on one line.
        text: plain text; an empty line separates paragraphs.
        anchors: the words that were drawn, in lower case; empty before a draw.
        domain: "social" or "physical" if the source states it.
        source: the source's name: a file, an address, "winosmith".
    """

    title: str
    text: str
    anchors: tuple[str, ...] = ()
    domain: str | None = None
    source: str = ""

    @property
    def candidates(self) -> tuple[str, ...]:
        """The distinct words that can be anchors, in alphabetical order, in lower case.

        They are content words ("the, it, he, of" can't be anchors: WinoGrande, section 2) and not
        names, which are words that the text never writes in lower case.

        >>> Topic("Tea", "Ann boils the water for Ann's tea. Water that boiled is hot.").candidates
        ('boiled', 'boils', 'hot', 'tea', 'water')
        """
        found = Counter(token for token in tokens(self.text) if _WORD.fullmatch(token))
        return tuple(
            sorted(
                word
                for word in found
                if word.islower() and not FUNCTION_WORDS.intersection(word.split("-"))
            )
        )

    def anchor_words(self, seed: int, count: int = ANCHORS) -> tuple[str, ...]:
        """Draw distinct anchor words; all candidates are equally likely.

        Args:
            seed: 0 or more; the same seed draws the same words.
            count: number of words, 1 or more; fewer if the text has fewer.

        Raises:
            InputError: `seed` or `count` is out of its range, or no word can be an anchor.
        """
        if count < 1:
            raise InputError(f"draw 1 anchor word or more, not {count}")
        candidates = self.candidates
        if not candidates:
            raise InputError(f"the topic {self.title!r} has no word that can be an anchor")
        drawn = _rng_of(seed, _FOR_ANCHORS).permutation(len(candidates))[:count]
        return tuple(candidates[number] for number in drawn)

    def with_anchors(self, seed: int, count: int = ANCHORS) -> Topic:
        """Return the topic with anchor words drawn; raises as `anchor_words`."""
        return replace(self, anchors=self.anchor_words(seed, count))


class Topics(Protocol):
    """Gives topics: the same one, with the same anchor words, for the same seed."""

    def draw(self, seed: int) -> Topic:
        """Return a topic with `ANCHORS` anchor words; all topics are equally likely.

        Raises:
            InputError: there is no topic; the message has the reason and advice.
        """
        ...


_MOST_TRIES = 50
"""Number of unusable topics in a row after which a source is refused."""


def _drawn(count: int, read: Callable[[int], Topic], seed: int, where: str) -> Topic:
    """Return one of `count` topics; all usable topics are equally likely.

    Args:
        count: number of topics.
        read: returns the topic of a number below `count`; raises InputError if it is unusable.
        seed: 0 or more.
        where: the source, for the message.

    Raises:
        InputError: no topic is usable; the message has the first reason.
    """
    if not count:
        raise InputError(f"{where} holds no topics")
    reason = ""
    for number in _rng_of(seed).permutation(count)[:_MOST_TRIES]:
        try:
            return read(int(number)).with_anchors(seed)
        except InputError as error:
            reason = reason or str(error)
    raise InputError(f"{where} holds no topic that can be used: {reason}")


def _rng_of(seed: int, purpose: int = _FOR_TOPICS) -> np.random.Generator:
    """Return the random numbers of a seed for one purpose.

    Raises:
        InputError: the seed is negative.
    """
    if seed < 0:
        raise InputError(f"a seed is 0 or more, not {seed}")
    return np.random.default_rng([seed, purpose])


_ENDINGS = (".txt", ".md")

_MOST_FILE_BYTES = 1_000_000
"""Greatest length of a text."""


@dataclass(frozen=True)
class FolderTopics:
    """The texts (.txt, .md; UTF-8) of a folder and the folders in it.

    The title is the text's heading, otherwise the name of the file. Files are listed once and read
    when they are drawn; unreadable files are skipped.

    Attributes:
        folder: as it was opened.
        paths: the files, in alphabetical order.
    """

    folder: Path
    paths: tuple[Path, ...] = field(repr=False)

    @classmethod
    def open(cls, folder: str | Path) -> FolderTopics:
        """List the texts of a folder.

        Raises:
            InputError: it is not a folder, or has no texts.
        """
        place = Path(folder)
        if not place.is_dir():
            raise InputError(f"{place} is no folder of texts")
        found = (path for path in place.rglob("*") if path.suffix.lower() in _ENDINGS)
        paths = tuple(sorted(path for path in found if path.is_file()))
        if not paths:
            raise InputError(f"{place} holds no .txt or .md files to draw topics from")
        return cls(place, paths)

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        return _drawn(
            len(self.paths),
            lambda number: _topic_of_file(self.paths[number]),
            seed,
            str(self.folder),
        )


def _topic_of_file(path: Path) -> Topic:
    try:
        if path.stat().st_size > _MOST_FILE_BYTES:
            raise FormatError(f"the text is longer than {_MOST_FILE_BYTES:,} bytes", path)
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise FormatError("the text is not in UTF-8", path) from None
    except OSError as error:
        raise FormatError(f"the text can't be read: {error.strerror}", path) from None
    title = path.stem.replace("_", " ").replace("-", " ").strip() or path.name
    return _topic_of_text(text, path.name, title[:1].upper() + title[1:])


@dataclass(frozen=True)
class JsonlTopics:
    """The lines of a JSONL file: objects with "title", "text" and, optionally, "domain".

    Every line is checked once. Only the start of each line stays in memory, so the file may be
    larger than memory.

    Attributes:
        path: the file.
        source: the source of the topics.
        starts: the offset of each line, in bytes.
    """

    path: Path
    source: str
    starts: array[int] = field(repr=False)

    @classmethod
    def open(cls, path: str | Path, *, source: str = "") -> JsonlTopics:
        """Check a file's lines.

        Raises:
            FormatError: the file can't be read, or a line is not a topic; with file and line.
        """
        place, starts, at = Path(path), array("q"), 0
        try:
            with place.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        _check_line(line, place, number)
                        starts.append(at)
                    at += len(line)
        except OSError as error:
            raise FormatError(f"the file can't be read: {error.strerror}", place) from None
        if not starts:
            raise FormatError("the file holds no topics", place)
        return cls(place, source or place.name, starts)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> Topic:
        """Return the topic of a 0-based number, without anchor words."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.starts[number])
                return _topic_of_record(parse_json(file.readline().decode()), self.source)
        except (OSError, ValueError) as error:
            raise FormatError(f"the file was changed or removed: {error}", self.path) from None

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        return _drawn(len(self), self.__getitem__, seed, str(self.path))


def _check_line(line: bytes, path: Path, number: int) -> None:
    try:
        _topic_of_record(parse_json(line.decode()), "")
    except InputError as error:
        raise FormatError(str(error), path, number) from None
    except ValueError as error:
        raise FormatError(f"the line is not JSON: {error}", path, number) from None


@cache
def shipped() -> JsonlTopics:
    """Return the how-to articles of this package, half of them social, half physical.

    They were written for winosmith and have its licence (Apache-2.0).
    """
    with resources.as_file(resources.files("winosmith") / "topics.jsonl") as path:
        return JsonlTopics.open(Path(path), source="winosmith")


Fetch = Callable[[str], tuple[bytes, str]]
"""Returns the body and the media type of an address's answer; raises InputError."""

MOST_BYTES = 2_000_000

MOST_SECONDS = 5.0

CHUNK = 16 * 1024


def fetch_https(
    url: str, *, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS
) -> tuple[bytes, str]:
    """Return the body and the media type of the answer of an https address.

    Args:
        url: an https address; a redirect may not leave the host.
        most_bytes: a longer body is refused.
        most_seconds: for the connection, and for the whole answer.

    Raises:
        InputError: the address can't be reached, refuses, is too slow or too long.
    """
    import requests
    import urllib3

    if urlsplit(url).scheme != "https":
        raise InputError(f"topics come only from https://…, not from {url!r}")
    until = time.monotonic() + most_seconds
    try:
        with requests.get(
            url,
            headers=HEADERS | {"Accept": "application/json, text/plain"},
            hooks={"response": _check_redirect},
            stream=True,
            timeout=most_seconds,
        ) as response:
            response.raise_for_status()
            body = b""
            while part := response.raw.read1(CHUNK):
                body += part
                if len(body) > most_bytes:
                    raise InputError(f"{url} answers more than {most_bytes:,} bytes")
                if time.monotonic() > until:
                    raise InputError(f"{url} is too slow")
    except (OSError, urllib3.exceptions.HTTPError) as error:
        raise InputError(f"{url} can't be read: {error}") from None
    return body, response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _check_redirect(response: Any, **_: Any) -> None:
    """Refuse a redirect that leaves https, the host or the port."""
    if response.is_redirect:
        target = urlsplit(urljoin(response.url, response.headers["Location"]))
        if target[:2] != urlsplit(response.url)[:2]:
            raise InputError(
                f"{response.url} leads to another site ({target.hostname}); give the final address"
            )


_MOST_CACHED = 500
"""Number of topics of an address that a process caches; the oldest are removed."""


@dataclass(eq=False)
class HttpTopics:
    """The topics of an https address, which answers a topic, a list of topics (JSON), or a text.

    Topics are cached in memory, and a draw is one of them. After each pause, a draw requests new
    topics and adds them; if the request fails, the cached ones are used. The topic of a seed thus
    depends on the topics that have arrived.

    Attributes:
        url: an https address.
        pause: seconds between two requests; after a failed one, thirty times as long.
        fetch: makes a request, within limits of time and size.

    Raises:
        InputError: the address is not https.
    """

    url: str
    pause: float = 2.0
    fetch: Fetch = field(default=fetch_https, repr=False)
    _cached: dict[tuple[str, str], Topic] = field(default_factory=dict, init=False, repr=False)
    _next: float = field(default=0.0, init=False, repr=False)
    _reason: str = field(default="", init=False, repr=False)
    _asking: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname or parts.username:
            raise InputError(f"topics come only from https://…, not from {self.url!r}")

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        if self._asking.acquire(blocking=not self._cached):
            try:
                if time.monotonic() >= self._next:
                    self._ask()
            finally:
                self._asking.release()
        cached = list(self._cached.values())
        where = f"{self.url} ({self._reason})" if self._reason and not cached else self.url
        return _drawn(len(cached), cached.__getitem__, seed, where)

    def _ask(self) -> None:
        """Request topics, and add them to the cache."""
        try:
            body, kind = self.fetch(self.url)
            came = _topics_of(body, kind, urlsplit(self.url).hostname or self.url)
            self._reason, wait = "", self.pause
        except InputError as error:
            came, self._reason, wait = [], str(error), 30 * self.pause
        cached = dict(self._cached)
        for topic in came:
            cached.setdefault((topic.title, topic.text), topic)
        self._cached = dict(list(cached.items())[-_MOST_CACHED:])
        self._next = time.monotonic() + wait


def _topics_of(body: bytes, kind: str, source: str) -> list[Topic]:
    """Return the topics of an answer of a media type ("application/json", "text/plain")."""
    try:
        text = body.decode("utf-8")
        if kind in ("text/plain", "text/markdown"):
            return [_topic_of_text(text, source)]
        if kind != "application/json":
            raise InputError(f"the answer is {kind!r}; application/json or text/plain is needed")
        found = parse_json(text)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"the answer can't be read: {error}") from None
    records = found if isinstance(found, list) else [found]
    return [_topic_of_record(record, source) for record in records]


@lru_cache(maxsize=8)
def open_topics(where: str | None, base: Path | None = None) -> Topics:
    """Return the source of topics of a setting, which a process opens once.

    Args:
        where: a folder of .txt and .md files, a .jsonl file, an https address, or None for the
            articles of this package.
        base: the folder of relative paths; the working folder if None.

    Raises:
        InputError: there is no such folder or file, or it is unusable, with the reason.
    """
    if where is None:
        return shipped()
    if "://" in where:
        return HttpTopics(where)
    path = (base or Path()) / Path(where).expanduser()
    if path.is_dir():
        return FolderTopics.open(path)
    if path.is_file() and path.suffix.lower() in (".jsonl", ".ndjson"):
        return JsonlTopics.open(path)
    raise InputError(
        f"topics = {where!r} names no folder of texts, no .jsonl file and no https address "
        f"(looked for {path.absolute()})"
    )


MOST_TITLE, MOST_TEXT, MOST_DOMAIN = 200, 20_000, 40
"""Greatest lengths in characters; longer titles and texts are cut."""

_TOPIC_KEYS = ("title", "text", "domain")


def _topic_of_record(record: Any, source: str) -> Topic:
    """Return the topic of a JSON object with a title, a text and, optionally, a domain.

    Other keys, such as dates and addresses of articles, are ignored.

    Raises:
        InputError: it is not an object, or a value is missing or not a text.
    """
    if not isinstance(record, dict):
        raise InputError(f"a topic is an object with a title and a text, not {record!r:.60}")
    for key in _TOPIC_KEYS:
        value = record.get(key)
        if not isinstance(value, str) and not (key == "domain" and value is None):
            raise InputError(f"the topic's {key!r} must be text, not {value!r:.60}")
    domain = _one_line(record.get("domain") or "")[:MOST_DOMAIN]
    return _make_topic(record["title"], record["text"], domain or None, source)


def _topic_of_text(text: str, source: str, title: str = "") -> Topic:
    """Return the topic of a plain text; its first line is the title if it is a heading.

    A heading is marked as in Markdown ("# How to fold a map"), or is a line with an empty line
    below. Otherwise the title is `title`.

    Raises:
        InputError: the text is empty.
    """
    head, _, rest = text.lstrip("\ufeff \n\r\t").partition("\n")
    marked = re.fullmatch(r"#{1,6}\s+(.+?)\s*#*\s*", head)
    alone = rest.strip() and not rest.split("\n", 1)[0].strip()
    if marked:
        return _make_topic(marked[1], rest, None, source)
    if alone and len(head) <= MOST_TITLE:
        return _make_topic(head, rest, None, source)
    return _make_topic(title or head, text, None, source)


def _make_topic(title: str, text: str, domain: str | None, source: str) -> Topic:
    title, text = _one_line(title), re.sub(r"\s*\n\s*\n\s*", "\n\n", _visible(text)).strip()
    if not title or not text:
        raise InputError(f"the topic {title!r} has no {'text' if title else 'title'}")
    return Topic(_cut_to(title, MOST_TITLE), _cut_to(text, MOST_TEXT), (), domain, source)


def _one_line(text: str) -> str:
    """Return the text on one line, without invisible characters."""
    return " ".join(_visible(text).split())


def _visible(text: str) -> str:
    """Return the text without control characters and surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "ignore").decode()
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())


def _cut_to(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(maxsplit=1)[0] + "…"
