"""Test sheets, their JSON files and their answer keys."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError, ProblemError
from winosmith.outputs import guard_cell
from winosmith.problem import BLANK, Problem
from winosmith.records import dump_json, parse_json

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVW"
"""The letters of the options, in order; X is reserved for `AMBIGUOUS`."""

AMBIGUOUS = "X"
"""The letter for a genuinely ambiguous question (Davis et al. 2016, section 3)."""

Label = Literal["SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"]
"""The label above a question about the previous question's text, or about a similar text."""

Pieces = tuple[str, str, str]
"""The text before the pronoun, the pronoun, and the text after it.

White space is preserved. If the pronoun is unknown, it is the blank "_"."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question on a sheet.

    Attributes:
        number: number on the sheet, from 1.
        problem_id: id of the problem.
        schema: key of a group of problems (halves of a twin, a family, look-alikes) of which a
            subject may see only one.
        text: the whole text in three pieces; the middle piece is printed bold.
        snippet: the phrase with the pronoun, in three pieces.
        options: the options for A, B, …, in order of first occurrence in the text.
        shown: index in the problem of each lettered option, as in `Response.shown`.
        label: the label above the question; None if there is none.

    Raises:
        ProblemError: the number is below 1, a middle piece is empty, or `shown` is invalid.
    """

    number: int
    problem_id: str
    schema: str
    text: Pieces
    snippet: Pieces
    options: tuple[str, ...]
    shown: tuple[int, ...]
    label: Label | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ProblemError(f"item numbers start at 1, but this one is {self.number}")
        if sorted(self.shown) != list(range(len(self.options))):
            raise ProblemError(f"{self.shown} is not a permutation of {len(self.options)} options")
        if not 2 <= len(self.options) <= len(LETTERS):
            raise ProblemError(
                f"item {self.number} has {len(self.options)} options; it must have 2 to "
                f"{len(LETTERS)}"
            )
        if not self.text[1] or not self.snippet[1]:
            raise ProblemError(f"item {self.number} has no pronoun in its text or in its snippet")

    @property
    def letters(self) -> str:
        """The letters of the options, such as "AB"."""
        return LETTERS[: len(self.options)]

    @property
    def sentence(self) -> str:
        """The text with a blank instead of the pronoun."""
        return self.text[0] + BLANK + self.text[2]

    def get_option_index(self, letter: str) -> int | None:
        """Return the index in the problem of the option with a letter; None for X.

        The letter may be in upper or lower case.

        Raises:
            ProblemError: the item has no option with this letter.
        """
        letter = letter.strip().upper()
        if letter == AMBIGUOUS:
            return None
        if len(letter) != 1 or letter not in self.letters:
            raise ProblemError(
                f"{letter!r} is not an answer to question {self.number}; use "
                f"{', '.join(self.letters)}, or X for ambiguous"
            )
        return self.shown[self.letters.index(letter)]

    def get_letter(self, option: int) -> str:
        """Return an option's letter, given the option's index in the problem."""
        return self.letters[self.shown.index(option)]


COMMON_TEST = "common"
"""Name of the test that every subject may take in addition to one version of the schemas."""

_CHECK_CHARACTERS = "23456789BCDFGHJKLMNPQRSTVWXZ"
_CHECK_LENGTH = 4
"""The characters of a code's checksum, and its length. No two characters are easily confused, and
there are no vowels, so no code spells a word. A misread code is accepted in 1 of 600,000 cases."""


@dataclass(frozen=True)
class Sheet:
    """A test with its items in a particular order.

    Attributes:
        title: title at the top ("Winograd schemas").
        test: name of the test: "a" or "b" (each has one half of every schema), or "common".
        order: number of the order among the orders of the test, from 1.
        seed: random seed for assigning halves and shuffling the questions.
        data: digest of the problems without their answers: `Dataset.blind().digest`.
        items: the questions, in the order of the sheet.

    Raises:
        DataError: there are no items, or items are not numbered 1, 2, 3, ….
    """

    title: str
    test: str
    order: int
    seed: int
    data: str
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        if not self.items:
            raise DataError(f"the sheet {self.name} has no items")
        if [item.number for item in self.items] != list(range(1, len(self.items) + 1)):
            raise DataError(f"the items of {self.name} are not numbered 1, 2, 3, … in order")

    @property
    def name(self) -> str:
        """The test and the order, as in file names, such as "a-1"."""
        return f"{self.test}-{self.order}"

    @cached_property
    def code(self) -> str:
        """The code printed on every page and saved with the answers: "a-1-7Q2K".

        The code depends on the items and their order, so that answers are never matched to
        another sheet.
        """
        items = [[item.number, item.problem_id, *item.shown] for item in self.items]
        record = {"data": self.data, "seed": self.seed, "name": self.name, "items": items}
        rest, check = int(hashlib.sha256(dump_json(record).encode()).hexdigest(), 16), ""
        for _ in range(_CHECK_LENGTH):
            rest, at = divmod(rest, len(_CHECK_CHARACTERS))
            check += _CHECK_CHARACTERS[at]
        return f"{self.name}-{check}"

    def __getitem__(self, number: int) -> Item:
        """Return the item with the given number, from 1; raise DataError if there is none."""
        if not 1 <= number <= len(self.items):
            raise DataError(f"{self.code} has questions 1 to {len(self.items)}, not {number}")
        return self.items[number - 1]

    def __len__(self) -> int:
        return len(self.items)


def get_text(problem: Problem) -> str:
    """Return the text with the pronoun in place of the blank, and with single spaces.

    Problems about different pronouns of a text have the same text (Davis et al. 2016, section 1).

    >>> get_text(Problem("1", "The cup hit the jug and _  broke.", ("cup", "jug"), 0, pronoun="it"))
    'The cup hit the jug and it broke.'
    """
    return " ".join(problem.replace_blank(problem.pronoun or BLANK).split())


_MAX_WORDS_AFTER, _MIN_WORDS = 6, 3
"""Maximum number of words after a snippet's pronoun, and minimum number of words in a snippet."""

_CLAUSE_END = re.compile(r"[.,;:?!—–][\"'”’)]*$")
_SENTENCE_END = re.compile(r"[.?!][\"'”’)]*$")
_CLAUSE_START = frozenset(
    """after although and as because before but for if nor or since so than that though till unless
    until when where whereas whether which while who whose yet""".split()
)
_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r"^(?:the|a|an|his|her|its|their|my|our|your)\s+", re.IGNORECASE)


def split_text(problem: Problem) -> Pieces:
    """Return the text before the pronoun, the pronoun (or the blank), and the text after it.

    >>> problem = Problem("1", "The cup hit  the jug and _ broke.", ("cup", "jug"), pronoun="it")
    >>> split_text(problem)
    ('The cup hit the jug and ', 'it', ' broke.')
    """
    text = " ".join(problem.replace_blank(BLANK).split())
    after = " ".join(f"{BLANK}{problem.after}".split())[1:]
    return text[: len(text) - len(after) - 1], problem.pronoun or BLANK, after


def make_snippet(problem: Problem) -> Pieces:
    """Return the phrase that contains the pronoun.

    By default, it is the phrase in the file (`wsc.quote1`, `wsc.quote2`). If there is none, it is
    the rest of the clause, at most six words, after at most three words of the clause before the
    pronoun. If it has fewer than three words, more of the sentence before the pronoun is added.

    >>> make_snippet(Problem("1", "The cup hit the jug and _ broke at once.", ("cup", "jug")))
    ('', '_', ' broke at once.')
    >>> make_snippet(Problem("2", "Ann paid Sue, for her _ was red.", ("dress", "hat")))
    ('her ', '_', ' was red.')
    """
    before, pronoun, after = split_text(problem)
    given = [str(problem.extra.get(f"wsc.{part}") or "") for part in ("quote1", "quote2")]
    if not any(given):
        following: list[str] = []
        for word in after.split()[:_MAX_WORDS_AFTER]:
            if following and word.lower() in _CLAUSE_START:
                break
            following.append(word)
            if _CLAUSE_END.search(word):
                break
        words = reversed(before.split())
        sentence = list(takewhile(lambda word: not _SENTENCE_END.search(word), words))
        clause = takewhile(
            lambda word: not _CLAUSE_END.search(word) and word.lower() not in _CLAUSE_START,
            sentence[:3],
        )
        count = max(len(list(clause)), _MIN_WORDS - 1 - len(following))
        given = [" ".join(sentence[:count][::-1]), " ".join(following)]
    start, end = given
    if start and before.endswith(" "):
        start += " "
    if end and after.startswith(" "):
        end = f" {end}"
    return start, pronoun, end


def order_options(problem: Problem) -> tuple[int, ...]:
    """Return the indices of the options in order of their first occurrence in the text.

    The search ignores case. If an option does not occur in the text, the option without its article
    is searched for, and then its last word. If these searches fail, the order of the problem is
    kept. See Davis et al. (2016, section 3): "always the order of the first occurrence".

    >>> order_options(Problem("1", "Ann's brother saw Sue, but _ left.", ("Sue", "the brother")))
    (1, 0)
    """
    text = " ".join(problem.sentence.split())
    places = []
    for option in (" ".join(option.split()) for option in problem.options):
        bare = _ARTICLE.sub("", option)
        searches = (
            re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text, re.IGNORECASE)
            for wanted in (option, bare, *bare.split()[-1:])
        )
        first = next(filter(None, searches), None)
        if first is None:
            return tuple(range(len(problem.options)))
        places.append(first.start())
    return tuple(sorted(range(len(places)), key=places.__getitem__))


def make_text_key(problem: Problem) -> str:
    """Return the words of the text in lower case, without punctuation.

    In the PDP challenge's file, the texts of two related questions differ by a full stop.
    """
    return " ".join(_WORD.findall(get_text(problem).lower()))


def make_question_key(problem: Problem) -> tuple[str, ...]:
    options = sorted(" ".join(option.lower().split()) for option in problem.options)
    return " ".join(_WORD.findall(problem.sentence.lower())), *options


_VERSION = 1
_SHEET_KEYS = ("title", "test", "order", "seed", "data")


def make_sheet_record(sheet: Sheet) -> dict[str, Any]:
    """Convert a sheet to its JSON record; see `read_sheet`."""
    return {
        "winosmith": "sheet",
        "version": _VERSION,
        "code": sheet.code,
        **{name: getattr(sheet, name) for name in _SHEET_KEYS},
        "items": [
            {
                "number": item.number,
                "problem": item.problem_id,
                "schema": item.schema,
                "text": list(item.text),
                "snippet": list(item.snippet),
                "options": [
                    {"letter": letter, "text": text, "option": option}
                    for letter, text, option in zip(
                        item.letters, item.options, item.shown, strict=True
                    )
                ],
                "ambiguous": AMBIGUOUS,
                "label": item.label,
            }
            for item in sheet.items
        ],
    }


def parse_sheet(record: Mapping[str, Any], path: str | Path | None = None) -> Sheet:
    """Parse a sheet from its JSON record; see `read_sheet`.

    Args:
        record: the record.
        path: path of the sheet's file, for error messages.

    Raises:
        FormatError: the record is not a sheet, has an unknown version, or was modified.
    """
    if record.get("winosmith") != "sheet":
        raise FormatError("this sheet was not made by `winosmith humans sheets`", path)
    if record.get("version") != _VERSION:
        raise FormatError(
            f"unknown version {record.get('version')!r}; the supported version is {_VERSION}",
            path,
        )
    try:
        items = tuple(_parse_item(item) for item in record["items"])
        sheet = Sheet(items=items, **{name: record[name] for name in _SHEET_KEYS})
        code = record["code"]
    except InputError as error:
        raise FormatError(str(error), path) from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the sheet can't be read: {error!r}; make it again", path) from error
    if sheet.code != code:
        raise FormatError(
            f"the sheet was changed: its code is {code!r}, but its items give {sheet.code!r}; "
            "make it again from the data",
            path,
        )
    return sheet


def _parse_item(record: Mapping[str, Any]) -> Item:
    before, pronoun, after = record["text"]
    snippet_before, snippet_pronoun, snippet_after = record["snippet"]
    return Item(
        number=record["number"],
        problem_id=record["problem"],
        schema=record["schema"],
        text=(before, pronoun, after),
        snippet=(snippet_before, snippet_pronoun, snippet_after),
        options=tuple(option["text"] for option in record["options"]),
        shown=tuple(option["option"] for option in record["options"]),
        label=record["label"],
    )


def read_record(path: Path, what: str) -> Any:
    try:
        return parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"this is not {what}: {error}", path) from error


def read_sheet(path: str | Path) -> Sheet:
    """Read a sheet from its JSON file.

    A file such as `a-1.json` contains one object:

        winosmith   "sheet"
        version     1
        code        the code on the sheet: "a-1-7Q2K"
        title, test, order, seed, data      as in `Sheet`
        items       list in the order of the sheet; each an object:
            number      number of the question, from 1
            problem     id of the problem
            schema      key of the problems of which a subject may see only one
            text        [before, pronoun, after]; the pronoun is "_" for a blank
            snippet     [before, pronoun, after]
            options     list of {"letter": "A", "text": "trophy", "option": 0}; `option` is the
                        index of the lettered option in the problem
            ambiguous   "X": the letter for a genuinely ambiguous question, always allowed
            label       "SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
                        or null

    The file has no answers, but it has problem ids, and WinoGrande's ids reveal answers. Give it
    only to a test's organizers, not to subjects. Printed sheets and forms have no ids.

    Raises:
        FormatError: the file is not a sheet's JSON file; the message names the file.
    """
    path = Path(path)
    record = read_record(path, "a sheet's JSON file")
    if not isinstance(record, dict):
        raise FormatError("this sheet was not made by `winosmith humans sheets`", path)
    return parse_sheet(record, path)


def format_answer_key(dataset: Dataset, sheets: Iterable[Sheet]) -> str:
    """Return the answer key as CSV: sheet, number, letter, answer, problem.

    The letter and answer of a problem with a withheld answer are empty.

    Raises:
        DataError: a sheet contains a problem that is not in the data set.
    """
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("sheet", "number", "letter", "answer", "problem"))
    for sheet in sheets:
        for item in sheet.items:
            problem = dataset[dataset.row(item.problem_id)]
            letter = option = ""
            if problem.answer is not None:
                letter, option = item.get_letter(problem.answer), problem.options[problem.answer]
            row = (sheet.code, item.number, letter, guard_cell(option), guard_cell(problem.id))
            table.writerow(row)
    return file.getvalue()
