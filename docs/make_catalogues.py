"""Update the catalogues of the platform's languages with the texts in its code.

    python docs/make_catalogues.py [NEW LANGUAGE ...]

Each language has a folder `src/winosmith/web/locale/LANGUAGE/LC_MESSAGES`. The script adds new
texts to its `django.po`, removes texts that the code no longer has, keeps the translations, and
compiles `django.mo`, which the platform reads. Then it prints the faults of the translations.
Django's `makemessages` does the same, but needs the programs of GNU gettext; this script needs
only Python. `docs/how-to/translate.md` explains how to translate.
"""

from __future__ import annotations

import ast
import io
import re
import string
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import django
import polib
from django.utils.translation.template import templatize

from winosmith.web import _rules

WEB = Path(__file__).resolve().parents[1] / "src/winosmith/web"
LOCALE = WEB / "locale"

CALLS = {
    "_": 1, "gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "ngettext": 2, "ngettext_lazy": 2,
}  # fmt: skip
"""Number of each function's leading arguments that are texts."""

DJANGOS = Path(django.__file__).parent / "conf/locale"
"""Django's own catalogues, which have the plural forms of each language (Unicode's CLDR)."""

VALUE = re.compile(r"%(?:\(\w+\))?[sdr]|%%")
"""The placeholder of a value in a text, or a percent sign next to one."""

TAG = re.compile(r"</?[a-z][^>]*>")
LONELY = re.compile(r"&(?!amp;|lt;|gt;)|[<>]")
"""Characters of markup outside of tags."""

UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and those that change the direction of the text after them."""


@dataclass
class Text:
    """A text in the code.

    Attributes:
        one: the msgid; the singular if the text depends on a number.
        many: the plural; "" if the text does not depend on a number.
        places: the files that contain the text, relative to `winosmith/web`.
    """

    one: str
    many: str = ""
    places: list[str] = field(default_factory=list)

    @property
    def formatted(self) -> bool:
        """Whether the text has placeholders for `%`."""
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
        if path.samefile(_rules.__file__):  # the hints for its settings are docstrings
            yield from ((text, "") for text in _rules.iter_form_texts())
    elif path.suffix in (".html", ".md", ".txt") and "templates" in path.parts:
        # In parentheses, Python's tokenizer ignores newlines and indentation.
        yield from calls(f"({templatize(path.read_text('utf-8'))})")


def calls(code: str) -> Iterator[tuple[str, str]]:
    """Yield the singular and plural of the texts that Python code looks up; "" without plural.

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
    """Return the leading arguments of a call that are string literals."""
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


def plural_forms(language: str) -> str:
    """Return the line `Plural-Forms` of a language's catalogue.

    Raises:
        SystemExit: Django doesn't know the language.
    """
    path = DJANGOS / language / "LC_MESSAGES/django.po"
    if not path.exists():
        known = ", ".join(sorted(found.name for found in DJANGOS.iterdir() if found.is_dir()))
        raise SystemExit(f"Django has no language {language!r}; use one of: {known}")
    return str(polib.pofile(path).metadata["Plural-Forms"])


def merged(old: Sequence[polib.POEntry], language: str, wanted: list[Text]) -> polib.POFile:
    """Return a catalogue with exactly the given texts and the old catalogue's translations."""
    known = {entry.msgid: entry for entry in old}
    plurals = plural_forms(language)
    new = polib.POFile(wrapwidth=100)
    new.metadata = {
        "Project-Id-Version": "winosmith",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": plurals,
    }
    forms = int(re.findall(r"nplurals=\s*(\d+)", plurals)[0])
    for text in wanted:
        new.append(_entry(text, known.get(text.one), forms))
    return new


def _entry(text: Text, old: polib.POEntry | None, forms: int) -> polib.POEntry:
    entry = polib.POEntry(msgid=text.one, occurrences=[(place, "") for place in text.places])
    if text.formatted:
        entry.flags.append("python-format")
    if old is not None:
        entry.tcomment = old.tcomment
    if not text.many:
        entry.msgstr = old.msgstr if old and not old.msgid_plural else ""
        return entry
    entry.msgid_plural = text.many
    same = old is not None and old.msgid_plural == text.many
    known = old.msgstr_plural if old and same else {}
    entry.msgstr_plural = {number: known.get(number, "") for number in range(forms)}
    return entry


def faults(catalogue: Sequence[polib.POEntry]) -> list[str]:
    """Return the faults of the translated texts, each with the translation."""
    return [
        f"{fault}: {text!r}"
        for entry in catalogue
        for one, text in _forms(entry)
        if text
        for fault in _wrong(one, text, formatted="python-format" in entry.flags)
    ]


def _forms(entry: polib.POEntry) -> list[tuple[str, str]]:
    """Return the translations of an entry, each with the English text that it translates."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    return [
        (entry.msgid_plural if number else entry.msgid, text)
        for number, text in sorted(entry.msgstr_plural.items())
    ]


def _wrong(one: str, text: str, *, formatted: bool) -> Iterator[str]:
    # Named values may be in any order; the others are filled in by position.
    wanted, got = _values(one, formatted), _values(text, formatted)
    if sorted(wanted) != sorted(got) or _in_order(wanted) != _in_order(got):
        yield "values differ from the English text"
    if set(TAG.findall(one)) != set(TAG.findall(text)):
        yield "tags differ from the English text"
    if LONELY.search(TAG.sub("", text)) and not LONELY.search(TAG.sub("", one)):
        yield "markup that the English text does not have"
    if UNSEEN.search(text) or (text != text.strip() and one == one.strip()):
        yield "control characters, or spaces at an end"


def _values(text: str, formatted: bool) -> list[str]:
    if formatted:
        return VALUE.findall(text)
    return [f"%({name})s" for _, name, _, _ in string.Formatter().parse(text) if name]


def _in_order(values: list[str]) -> list[str]:
    return [value for value in values if not value.startswith(("%(", "%%"))]


def main(new: Sequence[str] = ()) -> None:
    """Write the catalogues, and print the faults of the translations.

    Args:
        new: languages to add, named like Django's folders: fr, pt_BR.
    """
    wanted = texts()
    begun = {path.parts[-3] for path in LOCALE.glob("*/LC_MESSAGES/django.po")}
    for language in sorted({*begun, *new}):
        path = LOCALE / language / "LC_MESSAGES/django.po"
        made = merged(polib.pofile(path) if path.exists() else (), language, wanted)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{str(made).rstrip()}\n", "utf-8")
        path.with_suffix(".mo").write_bytes(made.to_binary())
        left = len(made.untranslated_entries())
        sys.stdout.write(f"{language}: {len(wanted)} texts, {left} to translate\n")
        sys.stdout.writelines(f"{path}: {fault}\n" for fault in faults(made))


if __name__ == "__main__":
    main(sys.argv[1:])
