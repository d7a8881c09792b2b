"""Bring the catalogues of the platform's languages up to date with the texts in its code.

    python docs/make_catalogues.py

Each language has a folder `src/winosmith/web/locale/LANGUAGE/LC_MESSAGES`. Its `django.po` gets the
texts that are new, loses those that are gone, and keeps what was translated; `django.mo`, which the
platform reads, is made of it. Nothing but Python is needed; a test fails when a file is not what
this writes. How to translate: `docs/how-to/translate.md`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polib
from django.utils.translation.template import templatize

WEB = Path(__file__).resolve().parents[1] / "src/winosmith/web"
LOCALE = WEB / "locale"

CALLS = {
    "_": 1, "gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "ngettext": 2, "ngettext_lazy": 2,
}  # fmt: skip
"""The functions whose first arguments are texts, and how many of them are."""

PLURALS = {"de": "nplurals=2; plural=(n != 1);"}
"""Which of its plural forms a language takes for a number: Unicode's rules (CLDR), as Django's own
catalogues write them. A new language needs its line."""


VALUE = re.compile(r"%(\(\w+\))?[sdr]|%%")
"""What stands for a value in a text, or for a percent sign beside one."""


@dataclass
class Text:
    """A text in the code.

    Attributes:
        one: what is looked up; of one thing, where numbers are told apart.
        many: the same of many things; "" where numbers are not told apart.
        places: the files that have it, below `winosmith/web`.
    """

    one: str
    many: str = ""
    places: list[str] = field(default_factory=list)

    @property
    def formatted(self) -> bool:
        """Whether values are put into it with `%`."""
        return VALUE.search(self.one) is not None


def texts(web: Path = WEB) -> list[Text]:
    """Return every text of the platform's code and templates, in the order of their files.

    Raises:
        ValueError: one text is used both with and without a number.
    """
    found: dict[str, Text] = {}
    for path in sorted(web.rglob("*")):
        place = path.relative_to(web).as_posix()
        for one, many in _in_file(path):
            text = found.setdefault(one, Text(one, many))
            if many and text.many not in ("", many):
                raise ValueError(f"{place}: {one!r} has two plurals: {many!r}, {text.many!r}")
            text.many = text.many or many
            if place not in text.places:
                text.places.append(place)
    return list(found.values())


def _in_file(path: Path) -> Iterator[tuple[str, str]]:
    if path.suffix == ".py":
        yield from calls(path.read_text("utf-8"))
    elif path.suffix in (".html", ".md", ".txt") and "templates" in path.parts:
        # In parentheses line ends and indents mean nothing to Python's tokenizer.
        yield from calls(f"({templatize(path.read_text('utf-8'))})")


def calls(code: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that Python code looks up; the second is "" where there is no plural.

    >>> list(calls('print(_("a " "b"), ngettext("%d c", "%d cs", n))'))
    [('a b', ''), ('%d c', '%d cs')]
    """
    ignored = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type not in ignored
    ]
    for number, token in enumerate(tokens[:-2]):
        if token.type != tokenize.NAME or token.string not in CALLS:
            continue
        if tokens[number + 1].string != "(" or (number and tokens[number - 1].string == "def"):
            continue
        literals = _literals(tokens[number + 2 :])
        if literals:
            wanted = CALLS[token.string]
            yield literals[0], literals[1] if wanted == 2 else ""


def _literals(tokens: list[tokenize.TokenInfo]) -> list[str]:
    """Return the arguments at the beginning of a call that are nothing but strings."""
    found: list[str] = []
    strings: list[str] = []
    for token in tokens:
        if token.type == tokenize.STRING:
            strings.append(ast.literal_eval(token.string))
        elif token.string in (",", ")") and strings:
            found.append("".join(strings))
            strings = []
            if token.string == ")":
                break
        else:
            break
    return found


def merged(old: polib.POFile, language: str, wanted: list[Text]) -> polib.POFile:
    """Return a catalogue of just these texts, with what the old one says of them."""
    known = {entry.msgid: entry for entry in old}
    new = polib.POFile(wrapwidth=100)
    new.metadata = {
        "Project-Id-Version": "winosmith",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": PLURALS[language],
    }
    for text in wanted:
        new.append(_entry(text, known.get(text.one), language))
    return new


def _entry(text: Text, old: polib.POEntry | None, language: str) -> polib.POEntry:
    entry = polib.POEntry(msgid=text.one, occurrences=[(place, "") for place in text.places])
    if text.formatted:
        entry.flags.append("python-format")
    if old is not None:
        entry.tcomment = old.tcomment
    if not text.many:
        entry.msgstr = old.msgstr if old and not old.msgid_plural else ""
        return entry
    entry.msgid_plural = text.many
    forms = int(PLURALS[language].removeprefix("nplurals=").split(";")[0])
    same = old is not None and old.msgid_plural == text.many
    told = old.msgstr_plural if old and same else {}
    entry.msgstr_plural = {number: told.get(number, "") for number in range(forms)}
    return entry


def catalogue(language: str) -> Path:
    """Return where the texts of a language stand."""
    return LOCALE / language / "LC_MESSAGES/django.po"


def languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.parts[-3] for path in LOCALE.glob("*/LC_MESSAGES/django.po"))


def written(language: str, wanted: list[Text]) -> tuple[str, bytes]:
    """Return what the two files of a language hold when they are up to date."""
    new = merged(polib.pofile(catalogue(language)), language, wanted)
    return f"{str(new).rstrip()}\n", new.to_binary()


def main() -> None:
    """Write the catalogues, and say what is left to translate."""
    wanted = texts()
    for language in languages():
        path = catalogue(language)
        po, mo = written(language, wanted)
        path.write_text(po, "utf-8")
        path.with_suffix(".mo").write_bytes(mo)
        left = len(polib.pofile(path).untranslated_entries())
        sys.stdout.write(f"{language}: {len(wanted)} texts, {left} to translate\n")


if __name__ == "__main__":
    main()
