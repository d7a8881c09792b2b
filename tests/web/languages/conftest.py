"""The small site that pages in several languages are shown of, and a language made up for it.

No language of the platform is written from right to left so far. The tests make a catalogue in
Arabic letters, one for each Latin one, and Django does with it what it does with Arabic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polib
import pytest

OWN = Path(__file__).parents[3] / "src/winosmith/web/locale"

LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ابچدهفگحيجكلمنوپقرستغوشخيز")

KEPT = re.compile(r"(%(?:\(\w+\))?[sdr]|%%|</?[a-z][^>]*>|&\w+;|\{\w*\})")
"""Values and markup, which translations leave as they are."""

FORMAT = re.compile(r"[A-Za-z](?:\W+[A-Za-z])+")
"""How a day is written, such as "j M Y, H:i"."""


def made_up(text: str) -> str:
    """Return an English text in Arabic letters."""
    if FORMAT.fullmatch(text):
        return text
    parts = KEPT.split(text)
    parts[::2] = [part.lower().translate(LETTERS) for part in parts[::2]]
    return "".join(parts)


@pytest.fixture(scope="session")
def right_to_left(site: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the settings under which the platform has a language that runs from right to left."""
    import django
    from django.conf import settings

    theirs = Path(django.__file__).parent / "conf/locale/ar/LC_MESSAGES/django.po"
    made = polib.POFile()
    made.metadata = {
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": polib.pofile(theirs).metadata["Plural-Forms"],
    }
    for entry in polib.pofile(OWN / "de/LC_MESSAGES/django.po"):
        many = entry.msgid_plural
        forms = dict.fromkeys(range(6), made_up(many)) if many else {}
        text = "" if many else made_up(entry.msgid)
        made.append(
            polib.POEntry(msgid=entry.msgid, msgstr=text, msgid_plural=many, msgstr_plural=forms)
        )
    folder = tmp_path_factory.mktemp("locale")
    (folder / "ar/LC_MESSAGES").mkdir(parents=True)
    made.save_as_mofile(folder / "ar/LC_MESSAGES/django.mo")
    return {
        "LANGUAGES": [*settings.LANGUAGES, ("ar", "العربية")],
        "LOCALE_PATHS": [*settings.LOCALE_PATHS, folder],
    }


@pytest.fixture
def arabic(right_to_left: dict[str, Any]) -> Iterator[None]:
    """Offer the language that runs from right to left during a test."""
    from django.test import override_settings

    with override_settings(**right_to_left):
        yield


@pytest.fixture(autouse=True)
def in_english(site: Any) -> Iterator[None]:
    """Leave the thread in English, where the tests of others expect it."""
    from django.utils import translation

    yield
    translation.activate("en")
