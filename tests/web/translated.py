"""A made-up language: English in Arabic letters, written from right to left.

The platform is in English. The tests add this second language, which Django treats like Arabic:
direction, six plural forms, numbers and days.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import polib

LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ابچدهفگحيجكلمنوپقرستغوشخيز")

KEPT = re.compile(r"(%(?:\(\w+\))?[sdr]|%%|</?[a-z][^>]*>|&\w+;|\{\w*\})")
"""Values and markup, which translations leave as they are."""

FORMAT = re.compile(r"[A-Za-z](?:\W+[A-Za-z])+")
"""A date format, such as "j M Y, H:i"."""


def made_up(text: str) -> str:
    """Return an English text in Arabic letters."""
    if FORMAT.fullmatch(text):
        return text
    parts = KEPT.split(text)
    parts[::2] = [part.lower().translate(LETTERS) for part in parts[::2]]
    return "".join(parts)


def script() -> Any:
    """Return the module `docs/make_catalogues.py`; it needs Django's templates."""
    path = Path(__file__).parents[2] / "docs/make_catalogues.py"
    spec = importlib.util.spec_from_file_location("make_catalogues", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_catalogues"] = module
    spec.loader.exec_module(module)
    return module


def catalogue() -> polib.POFile:
    """Return a catalogue of all texts of the platform in the made-up language."""
    catalogues = script()
    made: polib.POFile = catalogues.merged((), "ar", catalogues.texts())
    for entry in made:
        for number in entry.msgstr_plural:
            form = entry.msgid_plural if number else entry.msgid
            entry.msgstr_plural[number] = made_up(form)
        if not entry.msgid_plural:
            entry.msgstr = made_up(entry.msgid)
    return made


def offered(folder: Path) -> dict[str, Any]:
    """Write the catalogue into a folder; return the settings with which a site offers it."""
    from django.conf import settings

    (folder / "ar/LC_MESSAGES").mkdir(parents=True)
    catalogue().save_as_mofile(folder / "ar/LC_MESSAGES/django.mo")
    return {
        "LANGUAGES": [*settings.LANGUAGES, ("ar", "العربية")],
        "LOCALE_PATHS": [*settings.LOCALE_PATHS, folder],
    }
