"""Which column of a row of questions is what: named by the user, or found by the names of others.

Names are compared without case, spaces and marks, so that `Correct Answer`, `correct_answer` and
`correctAnswer` are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, takewhile
from string import ascii_uppercase
from typing import Any, Literal, get_args

from winosmith.errors import FormatError, InputError

Row = Mapping[str, Any]

AnswerIs = Literal["letter", "0", "1", "text", "label"]
"""What an answer is: a letter, a number from 0 or from 1 on, the text of a choice, or its label."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of questions, where a file does not name them as others do.

    Attributes:
        question: of the question; several are joined with a space, in this order. Empty: found.
        choices: of the choices: one with lists, or one a choice. That of the answers where the
            choices are the labels of the whole file (yes and no). Empty: found.
        answer: of the right choice. None: found.
        answer_is: what stands there; see `AnswerIs`. None: told by the whole file.
    """

    question: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    answer: str | None = None
    answer_is: AnswerIs | None = None

    def __post_init__(self) -> None:
        if self.answer_is is not None and self.answer_is not in get_args(AnswerIs):
            raise InputError(
                f"an answer is one of {', '.join(get_args(AnswerIs))}; not {self.answer_is!r}"
            )


QUESTION = (
    "question questionstem stem query prompt problem goal ctx questiontext qtext startphrase input "
    "statement frage fragetext énoncé pregunta domanda"
)
_AFTER_TEXT = ("question", "questionstem", "stem", "query")
ASIDE = "context passage article paragraph dialogue story narrative document background text"
"""Columns with a text that such a question is about; where there is none, the question itself."""

_LONG = ("context", "passage", "article", "paragraph", "dialogue", "narrative")

CHOICES = (
    "choices options endings candidates answers answerchoices choice mc1targets targetscores "
    "option optionlist answeroptions"
)
_CHOICE = re.compile(
    r"((?P<of>(?!.*(?:incorrect|wrong|distractor)).*[ _./-])?(?:option|choice|alternative|answer"
    r"|ans|opt|op|sol|solution|ending|candidate|response|output|antwort|réponse|opción|respuesta"
    r"|risposta)s?[ _./-]?)?([aA01])([.)]?)",
    re.IGNORECASE,
)
"""The first of the columns that have a choice each; `of` is what stands before their noun."""

ANSWER = (
    "answer answerkey label gold goldlabel target correct correctanswer correctoption cop answeridx"
    " answerindex key correctchoice correctindex correctidx correctanswerindex rightanswer ra"
    " richtigeantwort lösung antwort bonneréponse réponse respuestacorrecta respuesta"
    " rispostacorretta risposta correctanswers ideal groundtruth finaldecision"
)
_ALSO = re.compile(
    r"(?:(?:gold|correct|right)?(?:answer|ans)|(?:gold|correct|right)(?:option|choice))(?:id|idx"
    r"|index|num|number|letter|text|key|label|option|choice)"
    r"|(?:gold|correct|right)(?:id|idx|index|letter|text|key|label)|answerrightending|solution"
)
"""Other names of columns of answers."""
_RIGHT = f"bestanswer {ANSWER} chosen right"
_WRONG = re.compile(
    r"(?:distractor|(?:best)?(?:incorrect|wrong|false)(?:answer|option|choice)?|rejected)([0-9]*)"
)
"""Columns with one wrong choice each."""
_WRONG_LISTS = (
    "distractors incorrectanswers wronganswers incorrectoptions wrongoptions incorrectchoices "
    "wrongchoices"
)

PAIRS = (
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("premises", "conclusion"),
)
ID = "id qid questionid uid ind idx"

_LOOK = 1000
"""So many rows tell what most of a large set have."""

FLAGS = ("correct", "iscorrect", "right", "isright", "isanswer")
"""Keys by which a choice says that it is the right one."""

_YES_OR_NO = {"yes", "no", "true", "false", "maybe"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns are what.

    Attributes:
        question: joined with a space; of `aside` those that stand before and may be empty.
        choices: one with lists, or one a choice; empty for `classes`, and with `wrong`.
        answer: None where there is none.
        id: None where there is none.
        classes: the labels of all rows are the choices.
        wrong: of the wrong choices, where the right one is the answer.
        guessed: whether the choices are told by the numbers of answers alone.
    """

    question: tuple[str, ...]
    aside: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str | None
    id: str | None
    classes: bool
    wrong: tuple[str, ...] = ()
    guessed: bool = False

    @property
    def used(self) -> set[str]:
        """The columns that are something."""
        return {*self.question, *self.choices, *self.wrong, self.answer or "", self.id or ""}


def plan(names: Sequence[str], given: Columns, rows: Sequence[Row]) -> Plan:
    """Return which column is what.

    Args:
        names: of all columns.
        given: those that the user names.
        rows: all of them, or the first ones: of several columns of answers one that holds some is
            taken.

    Raises:
        FormatError: a named one is not there, or there is none for questions or choices.
    """
    for name in (*given.question, *given.choices, *filter(None, [given.answer])):
        if name not in names:
            raise FormatError(f"there is no column {name!r}; there are {_quoted(names)}")
    if first(["premise"], names) and first(["question"], names) and not given.question:
        raise FormatError("there are a premise and a question: name one or both with `question=`")
    pairs = (tuple(first([name], names) for name in pair) for pair in PAIRS)
    pair = next((tuple(filter(None, pair)) for pair in pairs if all(pair)), ())
    question = given.question
    aside: tuple[str, ...] = ()
    if not question and (found := first(QUESTION.split(), names)):
        text = _text_of(found, names, rows) if plainly(found) in _AFTER_TEXT else None
        question, aside = ((text, found), (text,)) if text else ((found,), ())
    answer = given.answer or _filled(ANSWER, names, rows)
    choices = given.choices or _choices(names, answer, rows)
    if answer is None and choices and (named := first(["answers"], names)) not in choices:
        answer = named
    answer = answer or _also(names, rows) or _beside(question, names)
    classes = bool(answer) and choices == (answer,)
    wrong: tuple[str, ...] = ()
    if not choices:
        right = given.answer or _filled(_RIGHT, names, rows) or answer
        wrong = _wrong(names) if right else ()
        answer = right if wrong else answer
    if not choices and not wrong and answer is not None:
        classes = (bool(pair) and not question) or _yes_or_no(answer, rows)
        if bool(pair) and not question:
            question = (*_word_of(pair, names, rows), *pair)
    guessed = False
    if not (choices or wrong or classes) and answer is not None:
        choices, before = _numbered(names, answer, rows)
        question, guessed = question or before, bool(choices)
    told = f"; the columns are {_quoted(names)}"
    several = first(["questions"], names)
    if not question and any(isinstance(row.get(several or ""), list) for row in rows):
        raise FormatError(
            f"{several!r} holds several questions, which no list beside it fits: write a row for "
            f"each{told}"
        )
    if not question and ((answer is not None and (choices or wrong)) or _flagged(choices, rows)):
        own = first(ASIDE.split(), names)
        # Where a pronoun has a column, or the text parts, the question is what it refers to.
        if own and not first(["pron", "pronoun"], names) and all(
            isinstance(row.get(own), str | None) for row in rows
        ):  # fmt: skip
            question = (own,)
    if not question:
        raise FormatError(f"no column is known for questions: name it with `question=`{told}")
    if not (choices or classes or wrong):
        raise FormatError(
            "no column is known for the choices: name them with `choices=`, or name there the "
            f"column of the answers if its labels are all the choices{told}"
        )
    others = [name for name in names if name not in {*question, *choices, *wrong, answer}]
    return Plan(
        question, aside, () if classes else choices, answer, first(ID.split(), others), classes,
        wrong, guessed,
    )  # fmt: skip


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def together(names: Sequence[str], given: Columns) -> tuple[str, tuple[str, ...]]:
    """Return the column that may hold questions with their choices, and the two that may hold one.

    Nothing where other columns have these.
    """
    asked = given.question or tuple(filter(None, [first(QUESTION.split(), names)]))
    wrong = _wrong(names)
    chosen = first(["chosen"], names)
    if not asked and chosen and len(wrong) == 1:
        return "", (chosen, wrong[0])
    if len(asked) != 1 or given.choices or wrong or _choices(names, given.answer, []):
        return "", ()
    return asked[0], ()


def plainly(name: str) -> str:
    """Return a name as names are compared.

    >>> plainly("Correct Answer"), plainly("answerKey"), plainly("#")
    ('correctanswer', 'answerkey', '#')
    """
    return re.sub(r"[\W_]+", "", name).casefold() or name


def first(wanted: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the first of the wanted names that is there, as it is written there."""
    written = _written(tuple(names))
    return next((written[name] for name in wanted if name in written), None)


@lru_cache(maxsize=16)
def _written(names: tuple[str, ...]) -> dict[str, str]:
    """Return names by how they are compared: a header of thousands is looked at many times."""
    return {plainly(name): name for name in reversed(names)}


def empty(value: Any) -> bool:
    """Tell whether a cell says nothing."""
    return value is None or (isinstance(value, str) and not value.strip())


def _text_of(question: str, names: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the first column with a text that questions are about, but for one that holds them.

    Its name may have a word before: `flores_passage`.
    """
    asked = [(str(row[question]), row) for row in rows if not empty(row.get(question))]
    alike = [name for name in names if name != question and plainly(name).endswith(_LONG)]
    known = (name for word in ASIDE.split() if (name := first([word], names)))
    for name in dict.fromkeys((*known, *filter(lambda name: _of_texts(name, rows), alike))):
        told = any(isinstance(row.get(name), Mapping) for row in rows)
        if not told and 2 * sum(said in str(row.get(name)) for said, row in asked) <= len(asked):
            return name
    return None


def _of_texts(name: str, rows: Sequence[Row]) -> bool:
    """Tell whether a column has texts of several words in most rows."""
    said = [row.get(name) for row in rows]
    return 2 * sum(isinstance(text, str) and " " in text.strip() for text in said) > len(said)


def _word_of(pair: Sequence[str], names: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the column of the word that a pair of texts is asked about, which both hold: WiC's.

    In most rows it begins a word of both, where it may be inflected.
    """
    rows = rows[:_LOOK]
    for name in (name for name in names if name not in pair):
        words = [row.get(name) for row in rows]
        held = [
            isinstance(word, str) and bool(word.strip())
            and all(f" {word}".casefold() in f" {row.get(text)}".casefold() for text in pair)
            for word, row in zip(words, rows, strict=True)
        ]  # fmt: skip
        if 2 * sum(held) > len(rows) and (len(rows) == 1 or len({*map(str, words)}) > 1):
            return (name,)
    return ()


def _numbered(
    names: Sequence[str], answer: str, rows: Sequence[Row]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of choices that an answer's numbers tell, and those of their question.

    Choices are the last columns of texts that are numbered as answers are; what is numbered before
    is the question, as the sentences of a story are.

    >>> row = {"obs1": "It rained.", "obs2": "He fell.", "hyp1": "It froze.", "hyp2": "He ate.", "y": 2}
    >>> _numbered([*row], "y", [row])
    (('hyp1', 'hyp2'), ('obs1', 'obs2'))
    """  # noqa: E501
    said = {str(row[answer]).strip() for row in rows if not empty(row.get(answer))}
    if not said or not all(one.isdecimal() for one in said):
        return (), ()
    groups: dict[str, list[str]] = {}
    for name in (name for name in names if name != answer):
        if found := re.fullmatch(r"(.*\D)([0-9])", name):
            groups.setdefault(found[1], []).append(name)
    least, most = min(map(int, said)), max(map(int, said))
    texts = [own for own in groups.values() if _in_turn(own) and _are_texts(own, rows)]
    fits = [own for own in texts if least >= 0 and most <= len(own) - (own[0][-1] == "0")]
    if len(rows) > len(names):  # so that each choice is right somewhere
        fits = [own for own in fits if most - least == len(own) - 1]
    if not fits:
        return (), ()
    before = texts[: texts.index(fits[-1])]
    return tuple(fits[-1]), tuple(before[0]) if len(before) == 1 else ()


def _in_turn(names: Sequence[str]) -> bool:
    numbers = [int(name[-1]) for name in names]
    return len(names) > 1 and numbers == [*range(numbers[0], numbers[0] + len(names))]


def _are_texts(names: Sequence[str], rows: Sequence[Row]) -> bool:
    said = [row.get(name) for row in rows for name in names]
    return all(isinstance(one, str) and not re.fullmatch(r"[\d.,\s]*", one) for one in said)


def _filled(wanted: str, names: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the first of the wanted names with a value in some row; else the first."""
    there = [name for word in wanted.split() if (name := first([word], names))]
    said = (name for name in there if any(not empty(row.get(name)) for row in rows))
    return next(said, there[0] if there else None)


def of_answers(name: str) -> bool:
    """Tell whether a column of this name may be of right answers.

    >>> of_answers("correct_answer"), of_answers("gold_idx"), of_answers("hint")
    (True, True, False)
    """
    return plainly(name) in ANSWER.split() or _ALSO.fullmatch(plainly(name)) is not None


def _also(names: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the first column of another name of answers that holds one value each."""
    there = [name for name in names if _ALSO.fullmatch(plainly(name))]
    said = ([row.get(name) for row in rows if not empty(row.get(name))] for name in there)
    return next(
        (name for name, own in zip(there, said, strict=True)
         if own and not any(isinstance(one, list | dict) for one in own)),
        None,
    )  # fmt: skip


def _beside(question: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column of answers that is named as the question is.

    >>> _beside(["q_text"], ["q_no", "q_text", "q_op1", "q_op2", "q_ans"])
    'q_ans'
    """
    stem, sign, _ = question[-1].partition("_") if question else ("", "", "")
    rests = {name: plainly(name.removeprefix(stem + sign)) for name in names} if sign else {}
    own = (name for name, rest in rests.items() if name.startswith(stem + sign) and "ans" in rest)
    return next((name for name in own if rests[name] == "ans" or of_answers(rests[name])), None)


def _yes_or_no(answer: str, rows: Sequence[Row]) -> bool:
    said = [row.get(answer) for row in rows if not empty(row.get(answer))]
    return bool(said) and all(str(one).strip().casefold() in _YES_OR_NO for one in said)


def _choices(names: Sequence[str], answer: str | None, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the column of lists, or else those that have a choice each.

    Of both a list of one in each row is that of right answers.
    """
    one = first(CHOICES.split(), [name for name in names if name != answer])
    series = _series(names)
    if one is None and not series:  # "multiple_choices"
        alike = (name for name in names if plainly(name).endswith(("choices", "options")))
        one = next((name for name in alike if not _wrong([name]) and _are_lists(name, rows)), None)
    if one is None or (series and all(_single(row.get(one)) for row in rows)):
        return series
    return (one,)


def _flagged(choices: Sequence[str], rows: Sequence[Row]) -> bool:
    """Tell whether choices say themselves which is right, so that what has them is a question."""
    held = rows[0].get(choices[0]) if rows and len(choices) == 1 else None
    listed = held if isinstance(held, list) else []
    return any(isinstance(one, Mapping) and first(FLAGS, [*one]) for one in listed)


def _are_lists(name: str, rows: Sequence[Row]) -> bool:
    return bool(rows) and all(isinstance(row.get(name), list | tuple | Mapping) for row in rows)


def _single(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and len(value) < 2)


def _series(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that have a choice each.

    >>> _series(["question", "Option A", "Option B", "Option C", "Answer"])
    ('Option A', 'Option B', 'Option C')
    """
    firsts, known = [found for name in names if (found := _CHOICE.fullmatch(name))], set(names)
    for found in sorted(firsts, key=lambda one: one["of"] is not None):
        stem, _, sign, end = found.groups(default="")
        # as many as there are, so that too many are refused and none is left out
        signs = ascii_uppercase if sign in "aA" else map(str, count(int(sign)))
        series = (f"{stem}{s.lower() if sign == 'a' else s}{end}" for s in signs)
        there = tuple(takewhile(known.__contains__, series))
        if len(there) >= 2:
            return there
    return ()


def _wrong(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of wrong choices: one a choice, in the order of their numbers, or a list.

    >>> _wrong(["Question", "Incorrect Answer 2", "Incorrect Answer 1"])
    ('Incorrect Answer 1', 'Incorrect Answer 2')
    """
    found = {name: match for name in names if (match := _WRONG.fullmatch(plainly(name)))}
    if found:
        return tuple(sorted(found, key=lambda name: (int(found[name][1] or 0), name)))
    one = first(_WRONG_LISTS.split(), names)
    return (one,) if one else ()
