"""Actions of simulated people on the site, page by page, and their acknowledged writes."""

from __future__ import annotations

import itertools
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from .browser import Browser, Form, Page, UnansweredError
from .sentences import make_twin

Kind = Literal["twin", "vote", "moderation"]

LIVE = {"HX-Request": "true"}
"""Headers that a page's script sends with its requests while a person types."""

IN_PLACE = {**LIVE, "HX-Boosted": "true"}
"""Headers for a form that is replaced by its response."""

AWAY = 503
"""The status of the site's responses while its database is unavailable."""


@dataclass(frozen=True)
class AcknowledgedWrite:
    """An acknowledged write: its kind, its author, and the mark that identifies it."""

    kind: Kind
    person: int
    mark: str
    choice: int | None = None


class InvalidResponseError(AssertionError):
    """The site sent an invalid response."""


class UnavailableError(InvalidResponseError):
    """The site was unavailable for longer than a visitor waits."""


@dataclass
class Visitor:
    """A person with a browser.

    Attributes:
        acknowledged: the acknowledged writes, in order.
        seconds: durations of the answered forms, by kind of form.
        before: the judge's current page; None before the first.
        patience: seconds for which an unanswered form is sent again, with the same key.
    """

    key: int
    browser: Browser
    seed: int = 0
    patience: float = 60
    clicks: int = 1
    acknowledged: list[AcknowledgedWrite] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)
    before: Page | None = None

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.key} {self.seed}")  # noqa: S311
        self.numbers = itertools.count()

    def read(self, path: str) -> Page:
        """Open a page, and retry while the server is being killed."""
        return self._patiently("read", lambda: self.browser.open(path))

    def write(
        self, what: str, form: Form, *, headers: dict[str, str] | None = None, **typed: str
    ) -> Page:
        """Send a form until the server responds: once, twice simultaneously, or again later.

        Args:
            what: name under which the time is recorded.
            form: a form on a page.
            headers: LIVE or IN_PLACE, if the page's script sends the form.
            typed: the text typed into the form.
        """
        click = self.rng.random() if self.clicks > 1 else 1.0
        headers = headers or {}
        if click < 0.3:
            other = self.browser.twin()
            second = threading.Thread(target=_sent, args=(other, form, headers, typed))
            second.start()
        page = self._patiently(what, lambda: self.browser.send(form, headers, **typed))
        if click < 0.3:
            second.join()
        elif click < 0.6 and page.acknowledged and "key" in form.fields:
            again = self._patiently("again", lambda: self.browser.send(form, headers, **typed))
            if again.status != page.status:
                raise InvalidResponseError(
                    f"{form.action}: first {page.status}, then {again.status}"
                )
        return page

    def _patiently(self, what: str, ask: Callable[[], Page]) -> Page:
        start = time.monotonic()
        while True:
            try:
                with self._timed(what):
                    page = ask()
            except UnansweredError:
                self.unanswered += 1
                if time.monotonic() > start + self.patience:
                    raise
                time.sleep(0.05)
                continue
            if page.status < 500:
                return page
            if page.status != AWAY:
                self.errors.append(f"{what}: {page.status} {page.path}")
            if time.monotonic() > start + self.patience:
                sort = UnavailableError if page.status == AWAY else InvalidResponseError
                raise sort(f"{what}: {page.status} {page.text[:2000]}")
            time.sleep(0.05)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds.setdefault(what, []).append(time.perf_counter() - start)


def write_twin(visitor: Visitor, *, checks: int = 0) -> bool:
    """Write a twin, from the topic to the page that confirms its submission."""
    start = visitor.read("/write/").form("/write/")
    if start is None:
        raise InvalidResponseError("no form on /write/")
    draft = visitor.write("topic", start)
    page = visitor.read(draft.location)
    form = page.form(having="sentence_1")
    if form is None:
        raise InvalidResponseError(f"no form on {page.path}: {page.status} {page.text[:500]}")
    mark = f"z{visitor.key}q{visitor.seed}v{next(visitor.numbers)}z"
    typed = make_twin(mark).form()
    words = typed["sentence_2"].split()
    for number in range(1, checks + 1):
        begun = {**typed, "sentence_2": " ".join(words[: number * len(words) // checks])}
        check = Form(f"{form.action}check/", "post", form.fields)
        visitor.write("check", check, headers=LIVE, **begun)
    sent = visitor.write("twin", form, do="submit", **typed)
    if not sent.acknowledged:
        if sent.status == 409:
            return False
        raise InvalidResponseError(f"the twin was refused ({sent.status}): {_faults(sent)}")
    visitor.acknowledged.append(AcknowledgedWrite("twin", visitor.key, mark))
    return True


def judge_once(visitor: Visitor) -> bool:
    """Judge a problem, local context first; return whether there was a problem.

    Each response contains the next page, as the page's script requests it.
    """
    page, visitor.before = visitor.before or visitor.read("/judge/"), None
    if (form := page.form("/next/")) is not None:
        page = visitor.write("claim", form, headers=IN_PLACE)
    if (form := page.form("/local/")) is not None:
        page = visitor.write("local", form, headers=IN_PLACE, choice=visitor.rng.choice("01"))
    if (form := page.form("/answer/")) is None:
        return False
    choice = visitor.rng.choice("01")
    answered = visitor.write("vote", form, headers=IN_PLACE, choice=choice)
    if answered.acknowledged:
        visitor.acknowledged.append(
            AcknowledgedWrite("vote", visitor.key, form.fields["problem"], int(choice))
        )
        visitor.before = answered if answered.forms() else None
    return True


def moderate_once(visitor: Visitor) -> bool:
    """Hold a judged problem or release a held one; return whether there was any."""
    state, action = visitor.rng.choice((("judging", "hold"), ("held", "let-through")))
    page = visitor.read(f"/moderate/?state={state}")
    picks = re.findall(
        r'name="pick"[^>]*?value="([^"]+)"|value="([^"]+)"[^>]*?name="pick"', page.text
    )
    refs = [first or second for first, second in picks]
    if not refs:
        return False
    picked = visitor.rng.choice(refs)
    asked = visitor.read(f"/moderate/ask/?action={action}&pick={picked}&back=/moderate/")
    form = asked.form("/act/", having="key")
    if form is None:
        return False
    mark = f"m{visitor.key}q{visitor.seed}v{next(visitor.numbers)}m"
    done = visitor.write("moderation", form, text=mark, pick=picked)
    # 302 to the list: done; to the batch's page: the problem had changed, so nothing was done.
    if done.acknowledged and "/batches/" not in done.location:
        visitor.acknowledged.append(AcknowledgedWrite("moderation", visitor.key, mark))
    return True


def _sent(browser: Browser, form: Form, headers: dict[str, str], typed: dict[str, str]) -> None:
    """Send a form from another window; the audit checks the result."""
    with suppress(UnansweredError):
        browser.send(form, headers, **typed)
    browser.close()


def _faults(page: Page) -> str:
    found = re.findall(r'class="(?:error|box wrong)[^"]*"[^>]*>(.*?)</', page.text, re.DOTALL)
    return " / ".join(" ".join(text.split()) for text in found)[:600] or page.text[:600]
