"""Which column of a row of questions is what: named by the user, or found by the names of others.

Names are compared without case, spaces and marks, so that `Correct Answer`, `correct_answer` and
`correctAnswer` are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count, takewhile
from typing import Any, Literal, get_args

from winosmith.errors import FormatError, InputError
from winosmith.formats._letters import FIRST, SERIES
from winosmith.problem import BLANK

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
    r"(?P<noun>(?P<before>(?!.*(?:incorrect|wrong|distractor)).*[ _./-])?(?:option|choice"
    r"|alternative|answer|ans|opt|op|sol|solution|ending|candidate|response|output|antwort|réponse"
    rf"|opción|respuesta|risposta)s?[ _./-]?)?(?P<sign>[0{''.join(FIRST)}])"
    r"(?P<after>[.)]?(?(noun)(?:[ _./(-].+)?))",
    re.IGNORECASE,
)
"""The first of the columns that have a choice each; `before` and `after` are the words around their
noun and sign, such as a language: "Dutch Option 1", "option1_nl"."""

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

_NAMED, _GROUPS = 20, 4
"""Names of columns, and groups of columns, that a message lists at most: a screenful."""

_LONE = re.compile(rf"(?<!\w){BLANK}(?!\w)")

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
        may_have_blanks: whether the user named the columns, or the question was found by its
            blanks.
    """

    question: tuple[str, ...]
    aside: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str | None
    id: str | None
    classes: bool
    wrong: tuple[str, ...] = ()
    guessed: bool = False
    may_have_blanks: bool = False

    @property
    def used(self) -> frozenset[str]:
        """The columns that are something; computed on each call."""
        return frozenset(
            {*self.question, *self.choices, *self.wrong, self.answer or "", self.id or ""}
        )


@dataclass(frozen=True, slots=True)
class _Family:
    """Columns with a choice each: `stem` and their signs; the words around their noun and sign."""

    names: tuple[str, ...]
    stem: str
    before: str
    after: str

    @property
    def is_plain(self) -> bool:
        return not self.before and not self.after.strip(".)")

    def includes(self, name: str) -> bool:
        """Return whether a name has the words of this family."""
        return not self.is_plain and name.startswith(self.before) and name.endswith(self.after)


class Names(tuple[str, ...]):
    """The names of columns, and what these say; a header of thousands is read once."""

    @cached_property
    def written(self) -> dict[str, str]:
        """The names by how they are compared."""
        return {plainly(name): name for name in reversed(self)}

    @cached_property
    def families(self) -> tuple[_Family, ...]:
        """The families of columns that have a choice each, plain ones first."""
        known, found = {*self}, list[_Family]()
        for name in self:
            if match := _CHOICE.fullmatch(name):
                stem, sign, after = name[: match.start("sign")], match["sign"], match["after"]
                if sign == "1" and f"{stem}0{after}" in known:
                    continue
                # All that are there: too many are refused, and none is omitted.
                signs: Iterable[str] = map(str, count(int(sign))) if sign in "01" else ()
                signs = signs or next((own for own in SERIES if own[0] == sign), ())
                there = tuple(takewhile(known.__contains__, (f"{stem}{n}{after}" for n in signs)))
                if len(there) >= 2:
                    found.append(_Family(there, stem, match["before"] or "", after))
        return tuple(sorted(found, key=lambda one: not one.is_plain))

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The columns that may have a list of choices, though their name has another word too."""
        ends = ("choices", "options")
        plain = ((name, plainly(name)) for name in self)
        return tuple(n for n, said in plain if said.startswith(ends) or said.endswith(ends))

    @cached_property
    def wrong(self) -> tuple[str, ...]:
        """The columns of wrong choices: one a choice, in the order of their numbers, or a list.

        >>> Names(["Question", "Incorrect Answer 2", "Incorrect Answer 1"]).wrong
        ('Incorrect Answer 1', 'Incorrect Answer 2')
        """
        matches = ((name, _WRONG.fullmatch(plainly(name))) for name in self)
        found = [(int(match[1] or 0), name) for name, match in matches if match]
        one = first(_WRONG_LISTS.split(), self)
        return tuple(name for _, name in sorted(found)) or ((one,) if one else ())

    @cached_property
    def other_answers(self) -> tuple[str, ...]:
        """The columns that have another name of answers."""
        return tuple(name for name in self if _ALSO.fullmatch(plainly(name)))


def names_of(rows: Iterable[Iterable[str]]) -> Names:
    """Return the names of the columns of rows, in the order in which they come."""
    return _names(tuple(dict.fromkeys(chain.from_iterable(rows))))


@lru_cache(maxsize=16)
def _names(names: tuple[str, ...]) -> Names:
    return Names(names)


def plan(names: Sequence[str], given: Columns, rows: Sequence[Row]) -> Plan:
    """Return which column is what.

    Args:
        names: of all columns.
        given: those that the user names.
        rows: all of them, or the first ones: of several columns of answers one that holds some is
            taken.

    Raises:
        FormatError: a named one is not there, there is none for questions or choices, or several
            may be meant.
    """
    names = names if isinstance(names, Names) else _names(tuple(names))
    known = {*names}
    for name in (*given.question, *given.choices, *filter(None, [given.answer])):
        if name not in known:
            raise FormatError(f"there is no column {name!r}; there are {listing(names)}")
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
    choices = given.choices or _choices(names, given, answer, rows)
    if answer is None and choices and (named := first(["answers"], names)) not in choices:
        answer = named
    answer = answer or _also(names, rows) or _beside(question, names)
    classes = bool(answer) and choices == (answer,)
    wrong: tuple[str, ...] = ()
    if not choices:
        right = given.answer or _filled(_RIGHT, names, rows) or answer
        wrong = names.wrong if right else ()
        answer = right if wrong else answer
    if not choices and not wrong and answer is not None:
        classes = (bool(pair) and not question) or _yes_or_no(answer, rows)
    if classes and pair and not question:
        question = (*_word_of(pair, names, rows), *pair)
    guessed = False
    if not (choices or wrong or classes) and answer is not None:
        choices, before = _numbered(names, answer, rows, given.question)
        question, guessed = question or before, bool(choices)
    told = f"; the columns are {listing(names)}"
    several = first(["questions"], names)
    if not question and any(isinstance(row.get(several or ""), list) for row in rows):
        raise FormatError(
            f"{several!r} holds several questions, which no list beside it fits: write a row for "
            f"each{told}"
        )
    may_have_blanks = bool(given.question or given.choices)
    have_texts = len(choices) == 1 or _have_words(choices, rows)
    if not question and have_texts and (blanks := _with_blanks(names, rows)):
        if len(blanks) > 1:
            raise FormatError(
                f"several columns have sentences with a blank: {listing(blanks)}; name one with "
                "`question=`, and its options with `choices=`"
            )
        question, may_have_blanks = (blanks[0],), True
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
    if given.choices and not given.question and len(names.families) > 1:
        _refuse_other_family(names, given.choices, question)
    taken = {*question, *choices, *wrong, answer}
    own_id = next((name for name in there(ID.split(), names) if name not in taken), None)
    return Plan(
        question, aside, () if classes else choices, answer, own_id, classes, wrong, guessed,
        may_have_blanks,
    )  # fmt: skip


def listing(names: Sequence[str]) -> str:
    """Return names as a message lists them: a screenful, and how many more there are.

    >>> listing(["a", "b"]), listing(["a"] * 1020)[-19:]
    ("'a', 'b'", "'a', and 1,000 more")
    """
    shown = ", ".join(map(repr, names[:_NAMED]))
    return f"{shown}, and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown


def together(names: Sequence[str], given: Columns) -> tuple[str, tuple[str, ...]]:
    """Return the column that may hold questions with their choices, and the two that may hold one.

    Nothing where other columns have these.
    """
    names = _names(tuple(names))
    asked = given.question or tuple(filter(None, [first(QUESTION.split(), names)]))
    chosen = first(["chosen"], names)
    if not asked and chosen and len(names.wrong) == 1:
        return "", (chosen, names.wrong[0])
    lists = [name for name in there(CHOICES.split(), names) if name != given.answer]
    if len(asked) != 1 or given.choices or names.wrong or names.families or lists:
        return "", ()
    return asked[0], ()


@lru_cache(maxsize=1 << 17)
def plainly(name: str) -> str:
    """Return a name as names are compared.

    >>> plainly("Correct Answer"), plainly("answerKey"), plainly("#")
    ('correctanswer', 'answerkey', '#')
    """
    return _MARKS.sub("", name).casefold() or name


_MARKS = re.compile(r"[\W_]+")


def there(wanted: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the wanted names that are there, as they are written there."""
    written = (names if isinstance(names, Names) else _names(tuple(names))).written
    return [written[name] for name in wanted if name in written]


def first(wanted: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the first of the wanted names that is there, as it is written there."""
    return next(iter(there(wanted, names)), None)


def empty(value: Any) -> bool:
    """Tell whether a cell says nothing."""
    return value is None or (isinstance(value, str) and not value.strip())


def _text_of(question: str, names: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the first column with a text that questions are about, but for one that holds them.

    Its name may have a word before: `flores_passage`.
    """
    asked = [(str(row[question]), row) for row in rows if not empty(row.get(question))]
    alike = [name for name in names if name != question and plainly(name).endswith(_LONG)]
    known = there(ASIDE.split(), names)
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
    names: Sequence[str], answer: str, rows: Sequence[Row], asked: Sequence[str] = ()
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
    for name in (name for name in names if name not in (answer, *asked)):
        if found := re.fullmatch(r"(.*\D)([0-9])", name):
            groups.setdefault(found[1], []).append(name)
    least, most = min(map(int, said)), max(map(int, said))
    texts = [own for own in groups.values() if _in_turn(own) and _are_texts(own, rows)]
    fits = [own for own in texts if least >= 0 and most <= len(own) - (own[0][-1] == "0")]
    if len(rows) > len(names):  # so that each choice is right somewhere
        fits = [own for own in fits if most - least == len(own) - 1]
    if not fits:
        return (), ()
    if asked and len(fits) > 1:
        raise FormatError(
            f"the choices may be {_either(map(tuple, fits))}; name them with `choices=`"
        )
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
    known = there(wanted.split(), names)
    said = (name for name in known if any(not empty(row.get(name)) for row in rows))
    return next(said, known[0] if known else None)


def of_answers(name: str) -> bool:
    """Tell whether a column of this name may be of right answers.

    >>> of_answers("correct_answer"), of_answers("gold_idx"), of_answers("hint")
    (True, True, False)
    """
    return plainly(name) in _ANSWERS or _ALSO.fullmatch(plainly(name)) is not None


_ANSWERS = frozenset(ANSWER.split())


def _also(names: Names, rows: Sequence[Row]) -> str | None:
    """Return the first column of another name of answers that holds one value each."""
    said = ([r.get(name) for r in rows if not empty(r.get(name))] for name in names.other_answers)
    return next(
        (name for name, own in zip(names.other_answers, said, strict=True)
         if own and not any(isinstance(one, list | dict) for one in own)),
        None,
    )  # fmt: skip


def _beside(question: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column of answers that is named as the question is.

    >>> _beside(["q_text"], ["q_no", "q_text", "q_op1", "q_op2", "q_ans"])
    'q_ans'
    """
    stem, sign, _ = question[-1].partition("_") if question else ("", "", "")
    own = [name for name in names if name.startswith(stem + sign)] if sign else []
    rests = ((name, plainly(name.removeprefix(stem + sign))) for name in own)
    return next(
        (n for n, rest in rests if "ans" in rest and (rest == "ans" or of_answers(rest))), None
    )


def _yes_or_no(answer: str, rows: Sequence[Row]) -> bool:
    """Return whether nearly all answers are yes or no; others may be typos of these."""
    said = [row.get(answer) for row in rows if not empty(row.get(answer))]
    known = sum(str(one).strip().casefold() in _YES_OR_NO for one in said)
    return known > 0 and known >= _NEARLY * len(said)


_NEARLY = 0.9


def _choices(
    names: Names, given: Columns, answer: str | None, rows: Sequence[Row]
) -> tuple[str, ...]:
    """Return the column of lists, or else those that have a choice each.

    Of both a list of one in each row is that of right answers.

    Raises:
        FormatError: several may be meant.
    """
    one = next((name for name in there(CHOICES.split(), names) if name != answer), None)
    families = names.families
    wrong = {*names.wrong}
    others: list[tuple[str, ...]] = [
        (n,) for n in names.lists if n not in wrong and n != one and _are_lists(n, rows)
    ]
    plain = one is not None
    if families and (one is None or all(_single(row.get(one)) for row in rows)):
        found, plain = families[0].names, families[0].is_plain
        others = [family.names for family in families[1:]] + _numbered_alike(families[0], names)
        taken = {*given.question, *found}
        others = [own for own in others if not taken & {*own} and _have_words(own, rows)]
    elif one is not None:
        found = (one,)
    elif others:  # "multiple_choices"
        found, *others = others
    else:
        return ()
    if not others or (plain and all(_is_plain(asked, names) for asked in given.question)):
        return found
    raise FormatError(
        f"the choices may be {_either((found, *others))}; name those that belong to the question "
        "with `choices=`, and the question with `question=`"
    )


def _either(several: Iterable[tuple[str, ...]]) -> str:
    """Return groups of columns as a message lists them."""
    groups = [*dict.fromkeys(several)]
    more = f" or one of {len(groups) - _GROUPS:,} more groups" if len(groups) > _GROUPS else ""
    return " or ".join(map(listing, groups[:_GROUPS])) + more


def _is_plain(asked: str, names: Names) -> bool:
    """Return whether the name of a question has no word of one family of choices, or language."""
    if any(family.includes(asked) for family in names.families):
        return False
    known = {*names}
    return plainly(asked) in QUESTION.split() or any(
        not own.is_plain and f"{own.before}{asked}{own.after}" in known for own in names.families
    )


def _numbered_alike(family: _Family, names: Names) -> list[tuple[str, ...]]:
    """Return the columns with other words before the same signs: "Auswahl 1" with "Option 1"."""
    signs, known = [name.removeprefix(family.stem) for name in family.names], {*names}
    stems = (name.removesuffix(signs[0]) for name in names if name.endswith(signs[0]))
    words = (own for own in stems if own not in ("", family.stem) and not own[-1].isdecimal())
    return [
        tuple(own + sign for sign in signs)
        for own in words
        if all(own + sign in known for sign in signs)
    ]


def _have_words(names: Sequence[str], rows: Sequence[Row]) -> bool:
    """Return whether columns hold texts that are more than numbers, marks, yes or no."""
    said = (row.get(name) for row in rows for name in names)
    texts = (one.strip().casefold() for one in said if isinstance(one, str))
    return any(text not in _YES_OR_NO and any(map(str.isalpha, text)) for text in texts)


def _refuse_other_family(names: Names, choices: tuple[str, ...], question: Sequence[str]) -> None:
    """Refuse choices with a word of their own if the question that was found lacks it."""
    own = next((family for family in names.families if {*family.names} == {*choices}), None)
    if own is None or any(map(own.includes, question)):
        return
    if alike := [name for name in names if own.includes(name) and name not in choices]:
        raise FormatError(
            f"the question of {listing(choices)} may be {listing(alike)}; name it with `question=`"
        )


def _with_blanks(names: Names, rows: Sequence[Row]) -> list[str]:
    """Return the columns of texts with one blank each, in most rows."""
    some = rows[:_LOOK]
    return [name for name in names if 2 * sum(has_blank(row.get(name)) for row in some) > len(some)]


def has_blank(value: Any) -> bool:
    """Return whether this is a text with one `_`, apart from words.

    >>> has_blank("The _ fell."), has_blank("a_b"), has_blank("_ and _")
    (True, False, False)
    """
    return isinstance(value, str) and value.count(BLANK) == 1 and bool(_LONE.search(value))


def _flagged(choices: Sequence[str], rows: Sequence[Row]) -> bool:
    """Tell whether choices say themselves which is right, so that what has them is a question."""
    held = rows[0].get(choices[0]) if rows and len(choices) == 1 else None
    listed = held if isinstance(held, list) else []
    return any(isinstance(one, Mapping) and first(FLAGS, [*one]) for one in listed)


def _are_lists(name: str, rows: Sequence[Row]) -> bool:
    return bool(rows) and all(isinstance(row.get(name), list | tuple | Mapping) for row in rows)


def _single(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and len(value) < 2)
