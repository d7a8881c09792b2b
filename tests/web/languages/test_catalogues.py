"""The catalogues: whole, up to date, and safe to put into pages."""

from __future__ import annotations

import importlib.util
import re
import string
import sys
from pathlib import Path
from typing import Any

import polib
import pytest

ROOT = Path(__file__).parents[3]
LANGUAGES = sorted(
    path.name for path in (ROOT / "src/winosmith/web/locale").iterdir() if path.is_dir()
)

VALUE = re.compile(r"%(?:\(\w+\))?[sdr]|%%")
TAG = re.compile(r"</?[a-z][^>]*>")
LONELY = re.compile(r"&(?!amp;|lt;|gt;)|[<>]")
"""Markup's own characters outside of tags."""

UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and those that turn the direction of what follows."""


@pytest.fixture(scope="module")
def catalogues(site: Any) -> Any:
    """Return the script that writes the catalogues; it needs Django's templates."""
    spec = importlib.util.spec_from_file_location(
        "make_catalogues", ROOT / "docs/make_catalogues.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_catalogues"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(catalogues: Any) -> Any:
    """Return every text of the platform's code."""
    return catalogues.texts()


@pytest.fixture(scope="module", params=LANGUAGES)
def catalogue(request: pytest.FixtureRequest, catalogues: Any) -> Any:
    """Return the catalogue of each language."""
    return polib.pofile(catalogues.catalogue(request.param))


def _forms(entry: Any) -> list[tuple[str, str]]:
    """Return the texts of an entry, each with the English one that it stands for."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    return [
        (entry.msgid_plural if number else entry.msgid, text)
        for number, text in sorted(entry.msgstr_plural.items())
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_files_are_what_the_code_and_the_translators_say(
    language: str, catalogues: Any, texts: Any
) -> None:
    """`docs/make_catalogues.py` would change no byte of either file of a language."""
    path = catalogues.catalogue(language)
    po, mo = catalogues.written(language, texts)
    assert path.read_text("utf-8") == po, "run: python docs/make_catalogues.py"
    assert path.with_suffix(".mo").read_bytes() == mo, "run: python docs/make_catalogues.py"


def test_every_text_is_translated(catalogue: Any, texts: Any) -> None:
    """A catalogue has each text of the code, every form of it translated, and none in doubt."""
    assert [entry.msgid for entry in catalogue] == [text.one for text in texts]
    assert [
        entry.msgid for entry in catalogue if not all(t.strip() for _, t in _forms(entry))
    ] == []
    assert [entry.msgid for entry in catalogue if entry.fuzzy or entry.obsolete] == []


def test_values_stand_where_the_code_puts_them(catalogue: Any) -> None:
    """A translation takes the values of its text: named ones as often, others in the same order."""
    wrong = []
    for entry in catalogue:
        if "python-format" not in entry.flags:
            wrong += [t for one, t in _forms(entry) if _braces(one) != _braces(t)]
            continue
        for one, text in _forms(entry):
            wanted, got = VALUE.findall(one), VALUE.findall(text)
            if sorted(wanted) != sorted(got) or _positional(wanted) != _positional(got):
                wrong.append(text)
    assert wrong == []


def _positional(values: list[str]) -> list[str]:
    return [value for value in values if not value.startswith(("%(", "%%"))]


def _braces(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_translations_bring_no_markup_of_their_own(catalogue: Any) -> None:
    """A translation has the tags of its text, attributes and all, and nothing else of markup."""
    wrong = []
    for entry in catalogue:
        for one, text in _forms(entry):
            if set(TAG.findall(one)) != set(TAG.findall(text)):
                wrong.append(text)
            if LONELY.search(TAG.sub("", text)) and not LONELY.search(TAG.sub("", one)):
                wrong.append(text)
            if UNSEEN.search(text) or (text != text.strip() and one == one.strip()):
                wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_plurals_follow_djangos_own_rules(language: str, catalogues: Any) -> None:
    """For each number up to 250 a catalogue takes the form that Django's own catalogues take."""
    import django

    own = Path(django.__file__).parent / "conf/locale" / language / "LC_MESSAGES/django.po"
    theirs = polib.pofile(own).metadata["Plural-Forms"]
    ours = polib.pofile(catalogues.catalogue(language)).metadata["Plural-Forms"]
    assert [_form(ours, n) for n in range(251)] == [_form(theirs, n) for n in range(251)]


def _form(rule: str, n: int) -> int:
    from gettext import c2py  # type: ignore[attr-defined]

    return int(c2py(rule.partition("; plural=")[2].rstrip("; \n"))(n))


def test_only_whole_languages_are_offered(site: Any) -> None:
    """The site offers English, and each language that has a catalogue, by its own name."""
    from django.conf import settings
    from django.conf.locale import LANG_INFO

    assert sorted(code for code, _ in settings.LANGUAGES) == sorted(["en", *LANGUAGES])
    for code, name in settings.LANGUAGES:
        assert name == LANG_INFO[code]["name_local"]


def test_texts_are_found_in_code_and_templates(catalogues: Any, texts: Any) -> None:
    """Joined strings, plurals, texts of filters and of lazy calls are found, each once."""
    code = (
        'x = _("a " "b"); y = ngettext("%d c", "%d cs", n) % n\nz = gettext_lazy(\n  "d"\n)\n_(e)'
    )
    assert list(catalogues.calls(code)) == [("a b", ""), ("%d c", "%d cs"), ("d", "")]
    one = {text.one: text for text in texts}
    assert one["%(n)s family"].many == "%(n)s families"
    assert one["Options"].places == sorted(one["Options"].places)
    assert len(one["Options"].places) > 3
    assert "Nothing is at this address, or it is not public." in one
    assert one["At least %d %% of the words shared"].formatted
    assert not one["95 % interval"].formatted
