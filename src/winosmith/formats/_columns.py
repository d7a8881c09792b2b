"""Find the columns that contain the question, the choices, the answer and the id.

The user names the columns, or they have the usual names in `_names`. If names are ambiguous, the
values decide. The same plan is used for all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from winosmith.data import Record, is_missing
from winosmith.errors import FormatError, InputError
from winosmith.formats._names import (
    ANSWER,
    CHOICES,
    CORRECT,
    FLAGS,
    ID_COLUMNS,
    INDEX,
    NEEDS_PASSAGE,
    PASSAGE,
    PASSAGE_ENDINGS,
    QUESTION,
    TEXT_PAIRS,
    Names,
    as_names,
    collect_names,
    find_existing,
    find_name,
    is_answer_name,
    join_groups,
    join_names,
    normalise,
)
from winosmith.problem import BLANK
from winosmith.text import separate_blank

AnswerIs = Literal["letter", "letter2", "0", "1", "text", "label"]
"""Kinds of answers: a letter in the usual or alternative order (أ ب ت ث, イ ロ ハ ニ), a 0-based or
1-based number, a choice's text, or its label."""


@dataclass(frozen=True)
class Columns:
    """The columns of questions, for files with unusual column names."""

    __pydantic_config__ = {"use_attribute_docstrings": True}  # noqa: RUF012 - of a recipe's schema

    question: tuple[str, ...] = ()
    """Columns that form the question, joined in the given order; detected by default."""
    choices: tuple[str, ...] = ()
    """Columns of the choices: one column of lists, one column per choice, or the answer column if
    its labels are the choices. Detected by default."""
    answer: str | None = None
    """Column of the correct choice; detected by default."""
    answer_is: AnswerIs | None = None
    """Content of the answer column: a letter, a letter in its script's alternative order
    (`letter2`), a 0-based or 1-based number, a choice's text or its label. By default it is
    detected from the whole file."""
    id: str | None = None
    """Column of the ids; detected by default. It may be the only column that is named, in any
    format."""

    @property
    def name_questions(self) -> bool:
        """Whether the columns make the file one of questions."""
        return bool(self.question or self.choices or self.answer or self.answer_is)

    def __post_init__(self) -> None:
        if self.answer_is is not None and self.answer_is not in get_args(AnswerIs):
            raise InputError(
                f"answer_is must be one of {', '.join(get_args(AnswerIs))}, not {self.answer_is!r}"
            )


_MAX_EXAMINED_ROWS = 1000

_YES_OR_NO = {"yes", "no", "true", "false", "maybe"}
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Plan:
    """The role of each column.

    Attributes:
        question: the columns of the question, which are joined with a space.
        passages: the columns of `question` that contain a passage; their cells may be empty.
        choices: one column with lists, or one column per choice; empty with
            `labels_are_choices` or `distractors`.
        labels_are_choices: whether the labels of all rows are the choices.
        distractors: the columns of the distractors, if `answer` has the correct choice's text.
        choices_are_guessed: whether other columns may be the choices, or only the numbers in the
            answers show which columns are the choices.
        may_have_blanks: whether the user named the columns, or the question was detected by its
            blanks.
    """

    question: tuple[str, ...]
    passages: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str | None
    id: str | None
    labels_are_choices: bool
    distractors: tuple[str, ...] = ()
    choices_are_guessed: bool = False
    may_have_blanks: bool = False

    @property
    def used_columns(self) -> frozenset[str | None]:
        """The columns with a role, except the question's columns if labels are the choices."""
        used = {*self.choices, *self.distractors, self.answer, self.id}
        return frozenset(
            used - {*self.question} if self.labels_are_choices else used | {*self.question}
        )

    def make_notes(self, columns: Columns) -> list[str]:
        if self.labels_are_choices:
            question = " and ".join(map(repr, self.question))
            read = f"{question} {'are' if len(self.question) > 1 else 'is'} read as the question"
            return [f"{read}, and the labels in {self.answer!r} as its choices"]
        notes = []
        if self.passages:
            notes.append(f"each question is appended to its {self.passages[0]!r}")
        elif not columns.question and normalise(self.question[0]) in PASSAGE:
            notes.append(f"{self.question[0]!r} is read as the question")
        # The user's columns and the detected ones may be in different languages.
        is_half_named = bool(columns.choices) != bool(columns.question) and bool(self.choices)
        if self.choices_are_guessed or is_half_named:
            choices, question = (", ".join(map(repr, n)) for n in (self.choices, self.question))
            notes.append(f"{choices} are read as the choices, and {question} as the question")
        if self.distractors:
            distractors = " and ".join(map(repr, self.distractors))
            notes.append(
                f"{self.answer!r} has the correct choice, and {distractors} the distractors; the "
                "choices are put in random order"
            )
        return notes


def make_plan(names: Iterable[str], columns: Columns, rows: Sequence[Record]) -> Plan:
    """Find the role of each column; raise FormatError if columns are unknown or ambiguous."""
    table = _Table(as_names(names), rows)
    names = table.names
    for name in (*columns.question, *columns.choices, *filter(None, [columns.answer, columns.id])):
        if name not in names.normalised:
            raise FormatError(f"there is no column {name!r}; the columns are {join_names(names)}")
    if find_name(["premise"], names) and find_name(["question"], names) and not columns.question:
        raise FormatError.advise(
            "the columns include a premise and a question",
            "question",
            ": name one or both with `question=`",
        )
    pairs = (find_existing(pair, names) for pair in TEXT_PAIRS)
    pair = next((found for found in pairs if len(found) == 2), [])
    question = columns.question
    passages: tuple[str, ...] = ()
    if not question and (found := find_name(QUESTION, names)):
        text = table.find_passage(found) if normalise(found) in NEEDS_PASSAGE else None
        question, passages = ((text, found), (text,)) if text else ((found,), ())
    answer = columns.answer or table.find_filled(ANSWER)
    choices, choices_are_guessed = columns.choices, False
    if not choices:
        choices, choices_are_guessed = table.find_choices(columns.question, answer)
    if answer is None and choices and (named := find_name(["answers"], names)) not in choices:
        answer = named
    answer = answer or table.find_unusual_answer_column() or _find_answer_by_prefix(question, names)
    classes = bool(answer) and choices == (answer,)
    distractors: tuple[str, ...] = ()
    if not choices:
        correct = columns.answer or table.find_filled(CORRECT) or answer
        distractors = names.distractors if correct else ()
        answer = correct if distractors else answer
    if not choices and not distractors and answer is not None:
        classes = (bool(pair) and not question) or table.is_yes_or_no(answer)
    if classes and pair and not question:
        question = (*table.find_word_column(pair), *pair)
    listing = f"; the columns are {join_names(names)}"
    questions = find_name(["questions"], names)
    if not question and any(isinstance(one, list) for one in table.get_column(questions)):
        raise FormatError(
            f"{questions!r} contains several questions, but no other column has matching lists: "
            f"write one row per question{listing}"
        )
    may_have_blanks = bool(columns.question or columns.choices)
    if not question and not classes and (len(choices) < 2 or table.has_words(choices)):
        blanks = [name for name in names if table.passes_in_most_rows(has_blank, name)]
        if len(blanks) > 1:
            raise FormatError.advise(
                f"several columns have sentences with a blank: {join_names(blanks)}",
                "question",
                "; name one with `question=`, and its options with `choices=`",
            )
        if blanks:
            question, may_have_blanks = (blanks[0],), True
    if not (choices or distractors or classes) and answer is not None:
        choices, before = table.find_numbered_choices(answer, question)
        question, choices_are_guessed = question or before, bool(choices)
    if not question and (
        (answer is not None and (choices or distractors)) or table.is_flagged(choices)
    ):
        text = find_name(PASSAGE, names)
        is_whole = all(isinstance(one, str | None) for one in table.get_column(text))
        # With a column of pronouns, or a text in parts, the question would be incomplete.
        if text and is_whole and not find_name(["pron", "pronoun"], names):
            question = (text,)
    if not question:
        fact, advice = "no question column was detected", ": name one with `question=`"
        raise FormatError.advise(fact, "question", advice + listing)
    if not (choices or classes or distractors):
        raise FormatError.advise(
            "no columns of choices were found",
            "choices",
            ": name two or more with `choices=`; if the labels in the answer column are "
            f"themselves the choices, name that column{listing}",
        )
    if columns.choices and not columns.question and names.families:
        _refuse_unmatched_question(names, columns.choices, question)
    used = {*question, *choices, *distractors, answer}
    id_names = find_existing((*ID_COLUMNS, *INDEX), names)
    ids = (name for name in id_names if name not in used and (name or not names[0]))
    own_id = columns.id or next(ids, None)
    return Plan(
        question, passages, () if classes else choices, answer, own_id, classes, distractors,
        choices_are_guessed, may_have_blanks,
    )  # fmt: skip


def try_plan(
    rows: Sequence[Record], columns: Columns = Columns(), names: Iterable[str] | None = None
) -> Plan | None:
    try:
        return make_plan(collect_names(rows) if names is None else names, columns, rows)
    except FormatError:
        return None


@dataclass(frozen=True, slots=True)
class _Table:
    names: Names
    rows: Sequence[Record]

    def get_column(self, name: str | None, limit: int | None = None) -> list[Any]:
        return [] if name is None else [row.get(name) for row in islice(self.rows, limit)]

    def get_values(self, name: str) -> list[Any]:
        return [one for one in self.get_column(name) if not is_empty(one)]

    def passes_in_most_rows(
        self, test: Callable[[Any], bool], name: str, limit: int | None = _MAX_EXAMINED_ROWS
    ) -> bool:
        values = self.get_column(name, limit)
        return sum(map(test, values)) > len(values) / 2

    def find_filled(self, wanted: Iterable[str]) -> str | None:
        existing = find_existing(wanted, self.names)
        return next(filter(self.get_values, existing), existing[0] if existing else None)

    def find_unusual_answer_column(self) -> str | None:
        for name in self.names.answer_aliases:
            values = self.get_values(name)
            if values and not any(isinstance(one, list | dict) for one in values):
                return name
        return None

    def find_passage(self, question: str) -> str | None:
        """Return the first column that contains passages for the questions, or None.

        The column's name may start with another word, as in `flores_passage`. Columns whose
        passages repeat the questions are skipped.
        """
        texts = (
            name for name, plain in self.names.normalised.items()
            if name != question and plain.endswith(PASSAGE_ENDINGS)
            and self.passes_in_most_rows(
                lambda one: isinstance(one, str) and " " in one.strip(), name, None)
        )  # fmt: skip
        for name in dict.fromkeys((*find_existing(PASSAGE, self.names), *texts)):
            values = [*zip(self.get_column(name), self.get_column(question), strict=True)]
            if any(isinstance(text, Mapping) for text, _ in values):
                continue
            repeats = [str(one) in str(text) for text, one in values if not is_empty(one)]
            if 2 * sum(repeats) <= len(repeats):
                return name
        return None

    def find_word_column(self, pair: Sequence[str]) -> tuple[str, ...]:
        """Return the column with the word whose meaning is compared between two texts, as in WiC.

        In most rows, both texts contain a word that begins with the compared word.
        """
        rows = self.rows[:_MAX_EXAMINED_ROWS]
        for name in (name for name in self.names if name not in pair):
            words = self.get_column(name, _MAX_EXAMINED_ROWS)
            matches = sum(
                isinstance(word, str) and bool(word.strip())
                and all(f" {word}".casefold() in f" {row.get(text)}".casefold() for text in pair)
                for word, row in zip(words, rows, strict=True)
            )  # fmt: skip
            if 2 * matches > len(rows) and (len(rows) == 1 or len({*map(str, words)}) > 1):
                return (name,)
        return ()

    def find_numbered_choices(
        self, answer: str, question: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns of the choices, which answers refer to by number, and of the question.

        The choices are the last group of numbered text columns whose numbers occur as answers. A
        numbered group before the choices is the question, such as the sentences of a story.

        >>> row = {"obs1": "It rained.", "obs2": "He fell.", "hyp1": "It froze.", "hyp2": "He ate."}
        >>> _Table(as_names([*row, "y"]), [row | {"y": 2}]).find_numbered_choices("y")
        (('hyp1', 'hyp2'), ('obs1', 'obs2'))
        """
        answers = {str(one).strip() for one in self.get_values(answer)}
        if not answers or not all(map(str.isdecimal, answers)):
            return (), ()
        groups: dict[tuple[str, str], dict[str, int]] = {}  # by the name around the number
        for name in self.names:
            found = re.fullmatch(r"(.*\D)([0-9])(\D*)", name)
            if found and name not in (answer, *question):
                groups.setdefault((found[1], found[3]), {})[name] = int(found[2])
        least, most = min(map(int, answers)), max(map(int, answers))
        texts = []
        for group in groups.values():
            numbers = [*group.values()]
            in_order = len(group) > 1 and numbers == [*range(numbers[0], numbers[-1] + 1)]
            if in_order and all(
                isinstance(one, str) and not re.fullmatch(r"[\d.,\s]*", one)
                for name in group for one in self.get_column(name)
            ):  # fmt: skip
                texts.append(group)
        fits = [group for group in texts if most <= len(group) - (0 in group.values())]
        if len(self.rows) > len(self.names):  # enough rows for each choice to be the answer
            fits = [group for group in fits if most - least == len(group) - 1]
        if not fits:
            return (), ()
        if question and len(fits) > 1:
            raise FormatError.advise(
                f"the choices may be {join_groups(map(tuple, fits))}",
                "choices",
                "; name them with `choices=`",
            )
        before = texts[: texts.index(fits[-1])]
        return tuple(fits[-1]), tuple(before[0]) if len(before) == 1 else ()

    def is_yes_or_no(self, answer: str) -> bool:
        """Return whether nearly all answers are yes or no. Other answers may be typos."""
        answers = [one for one in self.get_values(answer) if not is_missing(one)]
        matching = sum(str(one).strip().casefold() in _YES_OR_NO for one in answers)
        return matching > 0 and matching >= _NEARLY_ALL * len(answers)

    def find_choices(
        self, question: Sequence[str], answer: str | None
    ) -> tuple[tuple[str, ...], bool]:
        """Return the column with lists of choices, or else the columns with one choice each.

        If both exist, a column with lists of one value contains answers, not choices. Also return
        whether other columns may be the choices, too.
        """
        one = next((name for name in find_existing(CHOICES, self.names) if name != answer), None)
        families = self.names.families
        others: list[tuple[str, ...]] = [
            (name,) for name in self.names.list_columns
            if name not in self.names.distractors and name != one and self.rows
            and all(isinstance(value, list | tuple | Mapping) for value in self.get_column(name))
        ]  # fmt: skip
        is_plain = one is not None
        if families and all(
            value is None or (isinstance(value, list | tuple) and len(value) < 2)
            for value in self.get_column(one)
        ):
            found, is_plain = families[0].names, families[0].is_plain
            similar = [group.names for group in families[1:]]
            similar += self.names.find_similar_groups(families[0])
            used = {*question, *found}
            others = [one for one in similar if used.isdisjoint(one) and self.has_words(one)]
        elif one is not None:
            found = (one,)
        elif others:  # "multiple_choices"
            found, *others = others
        else:
            return (), False
        if not others or (
            is_plain and all(_has_no_family_word(name, self.names) for name in question)
        ):
            return found, bool(others)
        raise FormatError.advise(
            f"the choices may be {join_groups((found, *others))}",
            "question",
            "; name the question with `question=`, and its choices with `choices=`",
        )

    def has_words(self, names: Sequence[str]) -> bool:
        values = (row.get(name) for row in self.rows for name in names)
        texts = (one.strip().casefold() for one in values if isinstance(one, str))
        return any(text not in _YES_OR_NO and any(map(str.isalpha, text)) for text in texts)

    def is_flagged(self, choices: Sequence[str]) -> bool:
        value = self.rows[0].get(choices[0]) if self.rows and len(choices) == 1 else None
        records = value if isinstance(value, list) else []
        return any(isinstance(one, Mapping) and find_name(FLAGS, one) for one in records)


def find_combined_columns(names: Iterable[str], columns: Columns) -> tuple[str, tuple[str, ...]]:
    """Return a column that combines question and choices, or two columns with a chat each.

    Both results are empty if question and choices have separate columns.
    """
    names = as_names(names)
    questions = columns.question or tuple(filter(None, [find_name(QUESTION, names)]))
    chosen = find_name(["chosen"], names)
    if not questions and chosen and len(names.distractors) == 1:
        return "", (chosen, names.distractors[0])
    lists = [name for name in find_existing(CHOICES, names) if name != columns.answer]
    if len(questions) != 1 or columns.choices or names.distractors or names.families or lists:
        return "", ()
    return questions[0], ()


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (not value or value.isspace()))


def has_blank(value: Any) -> bool:
    """Return whether a value is a text with one `_` that is not part of a word.

    Words may touch the `_` in scripts without spaces between words, and next to particles.

    >>> has_blank("The _ fell."), has_blank("因为_太重。"), has_blank("a_b"), has_blank("_ and _")
    (True, True, False, False)
    """
    return isinstance(value, str) and value.count(BLANK) == 1 and separate_blank(value) == value


def _find_answer_by_prefix(question: Sequence[str], names: Names) -> str | None:
    """Return the answer column with the question column's prefix, such as q_ans for q_text."""
    stem, sign, _ = question[-1].partition("_") if question else ("", "", "")
    related = [name for name in names if name.startswith(stem + sign)] if sign else []
    endings = ((name, normalise(name.removeprefix(stem + sign))) for name in related)
    return next(
        (n for n, end in endings if "ans" in end and (end == "ans" or is_answer_name(end))), None
    )


def _has_no_family_word(question: str, names: Names) -> bool:
    """Return whether the question's name lacks the families' extra words, such as a language."""
    if any(family.includes(question) for family in names.families):
        return False
    return question == find_name(QUESTION, names) or any(
        not group.is_plain and f"{group.before}{question}{group.after}" in names.normalised
        for group in names.families
    )


def _refuse_unmatched_question(
    names: Names, choices: Collection[str], question: Sequence[str]
) -> None:
    match = next((family for family in names.families if {*family.names} == {*choices}), None)
    if match is None and tuple(choices) in names.find_similar_groups(names.families[0]):
        raise FormatError.advise(
            f"{join_names([*choices])} may not be the choices of {join_names(question)}, "
            f"because there are also {join_names(names.families[0].names)}",
            "question",
            "; name the question with `question=`",
        )
    if match is None or any(map(match.includes, question)):
        return
    if others := [name for name in names if match.includes(name) and name not in choices]:
        raise FormatError.advise(
            f"the question for the choices {join_names([*choices])} may be in {join_names(others)}",
            "question",
            "; name its column with `question=`",
        )
