"""A test sheet: what a problem shows on it, its code, its file for machines, and its key."""

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
from winosmith.records import canonical, parse_json

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVW"
"""The letters of the options, in order: those before X, which is `AMBIGUOUS`."""

AMBIGUOUS = "X"
"""What a subject writes when the question is genuinely ambiguous (section 3 there)."""

Label = Literal["SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"]
"""The label above a question on the previous text, or on a text that is easily taken for it."""

Pieces = tuple[str, str, str]
"""The text before the pronoun, the pronoun, and the text after it.

White space between them is kept; the pronoun is the blank "_" if it is unknown.
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A problem as it is on a sheet.

    Attributes:
        number: its number on the sheet, from 1.
        problem_id: the problem that is asked.
        schema: what is shared by the problems that one subject may not see together: the halves
            of a twin, a family, look-alikes.
        text: the whole text in three pieces; the middle one is printed bold.
        snippet: the phrase with the pronoun, in three pieces.
        options: what the letters A, B, … stand for, in order of first occurrence in the text.
        shown: the index in the problem of each lettered option; as in `Response.shown`.
        label: the label above the question, or None.

    Raises:
        ProblemError: there is no number from 1, no middle piece, or no order of the options.
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
            raise ProblemError(f"items are numbered from 1, not {self.number}")
        if sorted(self.shown) != list(range(len(self.options))):
            raise ProblemError(f"the order {self.shown} is not one of {len(self.options)} options")
        if not 2 <= len(self.options) <= len(LETTERS):
            raise ProblemError(
                f"item {self.number} has {len(self.options)} options, not 2 to {len(LETTERS)}"
            )
        if not self.text[1] or not self.snippet[1]:
            raise ProblemError(f"item {self.number} has no pronoun in its text or in its snippet")

    @property
    def letters(self) -> str:
        """The letters of the options: "AB" for two."""
        return LETTERS[: len(self.options)]

    @property
    def sentence(self) -> str:
        """The text with the blank, as a problem has it."""
        return self.text[0] + BLANK + self.text[2]

    def option(self, letter: str) -> int | None:
        """Return the index in the problem of the option with that letter; None for X.

        Raises:
            ProblemError: it is not a letter of this item; small letters are letters, too.
        """
        letter = letter.strip().upper()
        if letter == AMBIGUOUS:
            return None
        if len(letter) != 1 or letter not in self.letters:
            raise ProblemError(
                f"question {self.number} has no answer {letter!r}; it is one of "
                f"{', '.join(self.letters)}, or X for ambiguous"
            )
        return self.shown[self.letters.index(letter)]

    def letter(self, option: int) -> str:
        """Return the letter of the option with that index in the problem."""
        return self.letters[self.shown.index(option)]


COMMON = "common"
"""The name of the test that everybody may take next to one version of the schemas."""

_CHECK_CHARACTERS = "23456789BCDFGHJKLMNPQRSTVWXZ"
_CHECK_LENGTH = 4
"""The signs of the check in a code, and how many it has. No sign is taken for another, none are
vowels, so that no word comes out, and a code that was misread fits once in 600,000 times."""


@dataclass(frozen=True)
class Sheet:
    """One test in one order of its items.

    Attributes:
        title: what is at the top ("Winograd schemas").
        test: which test it is: "a" or "b" (a half of each schema), or "common".
        order: which of the orders of that test, from 1.
        seed: what dealt the halves and drew the order.
        data: the digest of the problems it was made from, without their answers:
            `Dataset.blind().digest`.
        items: in order, numbered from 1.

    Raises:
        DataError: there are no items, or they are not numbered 1, 2, 3, ….
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
        """The test and the order, as files are named: "a-1"."""
        return f"{self.test}-{self.order}"

    @cached_property
    def code(self) -> str:
        """What is printed on every page and comes back with the answers: "a-1-7Q2K".

        It belongs to the items and their order: answers can't be read with another sheet.
        """
        held = [[item.number, item.problem_id, *item.shown] for item in self.items]
        record = {"data": self.data, "seed": self.seed, "name": self.name, "items": held}
        rest, check = int(hashlib.sha256(canonical(record).encode()).hexdigest(), 16), ""
        for _ in range(_CHECK_LENGTH):
            rest, sign = divmod(rest, len(_CHECK_CHARACTERS))
            check += _CHECK_CHARACTERS[sign]
        return f"{self.name}-{check}"

    def __getitem__(self, number: int) -> Item:
        """Return the item of that number; raises DataError when there is none."""
        if not 1 <= number <= len(self.items):
            raise DataError(f"{self.code} has the questions 1 to {len(self.items)}, not {number}")
        return self.items[number - 1]

    def __len__(self) -> int:
        return len(self.items)


def get_text(problem: Problem) -> str:
    """Return the text with its pronoun back in place of the blank, its white space tidy.

    Two pronouns of one text give two problems with one text (Davis et al. 2016, section 1).

    >>> get_text(Problem("1", "The cup hit the jug and _  broke.", ("cup", "jug"), 0, pronoun="it"))
    'The cup hit the jug and it broke.'
    """
    return " ".join(problem.replace_blank(problem.pronoun or BLANK).split())


_MAX_WORDS_AFTER, _MIN_WORDS = 6, 3
"""Words of a snippet after the pronoun at most, and of a whole snippet at least."""

_CLAUSE_END = re.compile(r"[.,;:?!—–][\"'”’)]*$")
_SENTENCE_END = re.compile(r"[.?!][\"'”’)]*$")
_CLAUSE_START = frozenset(
    """after although and as because before but for if nor or since so than that though till unless
    until when where whereas whether which while who whose yet""".split()
)
_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r"^(?:the|a|an|his|her|its|their|my|our|your)\s+", re.IGNORECASE)


def split_pieces(problem: Problem) -> Pieces:
    """Return the text before the pronoun, the pronoun (or the blank), and the text after it.

    >>> problem = Problem("1", "The cup hit  the jug and _ broke.", ("cup", "jug"), pronoun="it")
    >>> split_pieces(problem)
    ('The cup hit the jug and ', 'it', ' broke.')
    """
    text = " ".join(problem.replace_blank(BLANK).split())
    after = " ".join(f"{BLANK}{problem.after}".split())[1:]
    return text[: len(text) - len(after) - 1], problem.pronoun or BLANK, after


def make_snippet(problem: Problem) -> Pieces:
    """Return the phrase that the pronoun is in.

    It is the phrase in the file (`wsc.quote1`, `wsc.quote2`). Otherwise it is the rest of the
    clause, at most six words, with at most three words of the clause before the pronoun. If these
    are fewer than three words, more of the sentence before the pronoun is added.

    >>> make_snippet(Problem("1", "The cup hit the jug and _ broke at once.", ("cup", "jug")))
    ('', '_', ' broke at once.')
    >>> make_snippet(Problem("2", "Ann paid Sue, for her _ was red.", ("dress", "hat")))
    ('her ', '_', ' was red.')
    """
    before, pronoun, after = split_pieces(problem)
    given = [str(problem.extra.get(f"wsc.{part}") or "") for part in ("quote1", "quote2")]
    if any(given):
        return _add_space_before(given[0], before), pronoun, _add_space_after(given[1], after)
    following = _cut_at_clause_end(after.split())
    preceding = _cut_to_last_clause(before.split(), _MIN_WORDS - 1 - len(following))
    return (
        _add_space_before(" ".join(preceding), before),
        pronoun,
        _add_space_after(" ".join(following), after),
    )


def _add_space_before(words: str, before: str) -> str:
    return words + " " if words and before.endswith(" ") else words


def _add_space_after(words: str, after: str) -> str:
    return " " + words if words and after.startswith(" ") else words


def _cut_at_clause_end(words: list[str]) -> list[str]:
    taken: list[str] = []
    for word in words[:_MAX_WORDS_AFTER]:
        if taken and word.lower() in _CLAUSE_START:
            break
        taken.append(word)
        if _CLAUSE_END.search(word):
            break
    return taken


def _cut_to_last_clause(words: list[str], least: int) -> list[str]:
    sentence = list(takewhile(lambda word: not _SENTENCE_END.search(word), reversed(words)))
    clause = takewhile(
        lambda word: not _CLAUSE_END.search(word) and word.lower() not in _CLAUSE_START,
        sentence[:3],
    )
    return sentence[: max(len(list(clause)), least)][::-1]


def order_options(problem: Problem) -> tuple[int, ...]:
    """Return the indices of the options in order of their first occurrence in the text.

    An option is looked for as a whole, in any case; without its article when it is not found so;
    by its last word when it is not found so, either. When one is not found at all, the given
    order stays (Davis et al. 2016, section 3: "always the order of the first occurrence").

    >>> order_options(Problem("1", "Ann's brother saw Sue, but _ left.", ("Sue", "the brother")))
    (1, 0)
    """
    text = " ".join(problem.sentence.split())
    places = [_find_place(" ".join(option.split()), text) for option in problem.options]
    given = range(len(places))
    if None in places:
        return tuple(given)
    return tuple(sorted(given, key=lambda index: (places[index], index)))


def _find_place(option: str, text: str) -> int | None:
    bare = _ARTICLE.sub("", option)
    for wanted in (option, bare, bare.split()[-1] if bare.split() else bare):
        found = re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text, re.IGNORECASE)
        if found:
            return found.start()
    return None


def make_text_key(problem: Problem) -> str:
    """Return the words of the text in lower case, without punctuation: the key of one text.

    In the file of the PDP challenge, two questions on one text differ only by a full stop.
    """
    return " ".join(_WORD.findall(get_text(problem).lower()))


def make_question_key(problem: Problem) -> tuple[str, ...]:
    """Return the words of the sentence with its blank, and the options: the key of one question."""
    options = sorted(" ".join(option.lower().split()) for option in problem.options)
    return " ".join(_WORD.findall(problem.sentence.lower())), *options


_VERSION = 1


def make_sheet_record(sheet: Sheet) -> dict[str, Any]:
    """Return a sheet as the object that `read_sheet` describes."""
    return {
        "winosmith": "sheet",
        "version": _VERSION,
        "code": sheet.code,
        "title": sheet.title,
        "test": sheet.test,
        "order": sheet.order,
        "seed": sheet.seed,
        "data": sheet.data,
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
    """Return the sheet of such an object.

    Args:
        record: the object.
        path: the file that it came from, for errors.

    Raises:
        FormatError: it is no sheet, of another version, or was changed after it was printed.
    """
    if record.get("winosmith") != "sheet":
        raise FormatError("this is not a sheet of `winosmith humans sheets`", path)
    if record.get("version") != _VERSION:
        raise FormatError(
            f"the sheet has version {record.get('version')!r}; this winosmith reads {_VERSION}",
            path,
        )
    try:
        items = tuple(_parse_item(item) for item in record["items"])
        kept = {name: record[name] for name in ("title", "test", "order", "seed", "data")}
        sheet = Sheet(items=items, **kept)
        code = record["code"]
    except InputError as error:
        raise FormatError(str(error), path) from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the sheet can't be read: {error!r}; make it again", path) from error
    if sheet.code != code:
        raise FormatError(
            f"the sheet was changed: its code is {code!r}, its items give {sheet.code!r}; "
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


def read_sheet(path: str | Path) -> Sheet:
    """Read a sheet from its JSON file.

    A file `a-1.json` holds one object:

        winosmith   "sheet"
        version     1, of this form
        code        printed on the sheet; "a-1-7Q2K"
        title, test, order, seed, data      as in `Sheet`
        items       a list, in the order of the sheet; each an object:
            number      from 1
            problem     the id of the problem
            schema      shared by what one subject may not see together
            text        [before, pronoun, after]; the pronoun is "_" for a blank
            snippet     [before, pronoun, after]
            options     a list of {"letter": "A", "text": "trophy", "option": 0}; `option` is the
                        index among the problem's options that the letter stands for
            ambiguous   "X": the letter for a genuinely ambiguous question, always allowed
            label       "SAME TEXT AS PREVIOUS QUESTION", "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
                        or null

    No answer is in it. Ids are (and those of WinoGrande give answers away), so it is for anyone who
    runs the test, not for those who take it; the printed sheets and the forms hold no ids.

    Raises:
        FormatError: it can't be read as a sheet; the message names the file.
    """
    path = Path(path)
    try:
        record = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"this is not a sheet's JSON file: {error}", path) from error
    if not isinstance(record, dict):
        raise FormatError("this is not a sheet of `winosmith humans sheets`", path)
    return parse_sheet(record, path)


def format_answer_key(dataset: Dataset, sheets: Iterable[Sheet]) -> str:
    """Return the key as CSV: sheet, number, letter, answer, problem; empty if it is withheld.

    Raises:
        DataError: a sheet has a problem that the data set does not have.
    """
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("sheet", "number", "letter", "answer", "problem"))
    for sheet in sheets:
        for item in sheet.items:
            problem = dataset[dataset.row(item.problem_id)]
            letter = option = ""
            if problem.answer is not None:
                letter, option = item.letter(problem.answer), problem.options[problem.answer]
            row = (sheet.code, item.number, letter, guard_cell(option), guard_cell(problem.id))
            table.writerow(row)
    return file.getvalue()
