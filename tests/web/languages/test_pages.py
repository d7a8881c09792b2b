"""Pages in other languages: the same structure, and no English text that has a translation."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django.utils.translation.trans_real import translation

from tests.web import visits as v
from tests.web.translated import made_up
from winosmith.web.people.models import Person

TEXTS = {"label", "lang", "dir", "title", "aria-label", "placeholder", "alt"}
"""Attributes that contain a text or its language; so do most data-* attributes."""

ONCE = re.compile(r"[0-9a-f]{32,}|[A-Za-z0-9]{64}|[\w-]{20,}:[\w-]{6}:[\w-]{40,}")
"""Form keys, tokens and signed timestamps, which differ from page to page."""

BEGINNING = ("data-option-", "data-sentence", "data-anchor", "data-ref", "data-key", "data-save")
"""Prefixes of data-* attributes with values for scripts; the others are texts to show."""


class Page(HTMLParser):
    """The tags and texts of a page.

    Attributes:
        shape: Tags, with all attributes that aren't texts.
        said: Texts and text attributes in the language of the page.
    """

    EMPTY = frozenset({"meta", "link", "input", "br", "hr", "img"})

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.shape: list[tuple[str, tuple[tuple[str, str], ...]]] = []
        self.said: list[str] = []
        self.open: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag and its text attributes."""
        known = {name: value or "" for name, value in attrs}
        kept = tuple((n, ONCE.sub("…", t)) for n, t in sorted(known.items()) if not _is_text(n, t))
        if (
            tag != "button" or known.get("name") != "language"
        ):  # the button of the current language differs
            self.shape.append((tag, kept))
        other = ("lang" in known and tag != "html") or tag in ("script", "style", "code", "pre")
        foreign = other or (bool(self.open) and self.open[-1][1])
        if not foreign:
            self.said += [t for n, t in known.items() if t and n in TEXTS - {"lang", "dir"}]
        if tag not in self.EMPTY:
            self.open.append((tag, foreign))

    def handle_endtag(self, tag: str) -> None:
        """Close a tag, and the unclosed tags inside it."""
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Record a text in the page's own language."""
        if not (self.open and self.open[-1][1]) and data.strip():
            self.said.append(data.strip())


def _is_text(name: str, value: str) -> bool:
    if name.startswith("data-"):
        return not name.startswith(BEGINNING)
    return name in TEXTS or (name == "value" and value in MEANT)


BY_MISTAKE = "It was done by mistake."

MEANT = {BY_MISTAKE, made_up(BY_MISTAKE)}
"""Initial texts of a field that the user can change."""


NAMES = {
    "open", "closed", "empty", "running", "done", "failed", "published", "questions", "…",
}  # fmt: skip
"""Names of rounds and of a format, and an ellipsis: equal to page texts, but not translated."""


def _page(visit: v.Visit, refs: dict[str, str], language: str) -> str:
    client = Client(headers={"accept-language": language})
    if visit.role != "visitor":
        client.cookies[settings.SESSION_COOKIE_NAME] = refs[f"session of {visit.role}"]
    if visit.route == "people:news":  # a visit marks the news as seen
        Person.objects.update(news_seen=None)
    with override_settings(RULES=replace(settings.RULES, **visit.rules)):
        answer = client.get(visit.path(refs), follow=True)
    assert answer.status_code == visit.status
    return answer.content.decode()


@pytest.mark.filterwarnings("ignore:No directory at")
def test_translated_page_differs_only_in_its_texts(refs, arabic):
    """And no text that the catalogue translates stays in English."""
    known = translation("ar")._catalog
    wrong: dict[str, Any] = {}
    shown = [one for one in v.VISITS if one.form is None and not one.before]
    for visit in {(one.route, one.status): one for one in shown}.values():
        name = str(visit)
        text = _page(visit, refs, "ar")
        assert '<html lang="ar" dir="rtl">' in text, name
        one, other = Page(_page(visit, refs, "en")), Page(text)
        differing = [
            pair for pair in zip(one.shape, other.shape, strict=False) if len(set(pair)) > 1
        ]
        left = [said for said in other.said if said not in NAMES and known.get(said, said) != said]
        if differing or len(one.shape) != len(other.shape) or left:
            wrong[name] = differing[:2], len(one.shape) - len(other.shape), left[:5]
    assert wrong == {}
