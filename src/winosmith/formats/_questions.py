"""Multiple-choice questions as rows: question, choices, answer, in whatever columns they are.

Where the rows of a file are, `_rows` tells; which column is what, `_columns`; what the choices of a
cell are, `_choices`; which of them an answer names, `_answers`. What answers are holds for a whole
file. A premise and a hypothesis make one question, whose choices are the labels of all the file. A
right answer with wrong ones beside it gets an order by lot (`_lots`). Columns that are nothing of
this go to `extra` as `questions.NAME`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any

from winosmith import data
from winosmith.data import Place, Record, Rows
from winosmith.errors import FormatError, ProblemError
from winosmith.formats import _base, _columns
from winosmith.formats._answers import (
    KINDS,
    differing,
    fitting,
    letter_of,
    place_list,
    readings,
    repeat_note,
)
from winosmith.formats._base import Entry, Format, Item, Writer, jsonable
from winosmith.formats._choices import PREFIX, flagged, listed, several, spoken, written
from winosmith.formats._columns import Columns, Plan, Row, empty, has_blank, plainly, plan
from winosmith.formats._letters import SERIES
from winosmith.formats._lots import by_lot
from winosmith.formats._rows import DRAFTED, EVERY, PARSED, question_rows, recognises, shaped
from winosmith.formats._twins import paired_by_ids
from winosmith.problem import BLANK, Extra, Problem, Scalar, extra_key
from winosmith.records import canonical
from winosmith.text import edit_distance

_CLEARLY = 5
"""A reading of the answers must fit so many times better than the next one, where none fits all."""


Told = data.Row[Record]


def _read(rows: Rows) -> list[Entry]:
    return read_questions(question_rows(rows)[0], None, rows.path)[0]


@dataclass(slots=True)
class _Draft:
    """A row on its way to a problem; `labels` where the choices have some, or columns.

    `written` are choices as they were before a sign was taken from each; `key` is the right one
    where the row itself says so. `extra` has the further columns by their own names.
    """

    place: Place
    raw: str
    id: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    answer: Any
    extra: dict[str, Any]
    position: int
    written: tuple[str, ...] = ()
    key: int | None = None
    blank: int | None = None
    twin_id: str | None = None
    _own: dict[str, int] | None = None

    def own(self) -> dict[str, int]:
        """Return which choice its own answer would be; made once, so choices must be final."""
        if self._own is None:
            self._own = self.readings(self.answer)
        return self._own

    def readings(self, answer: Any) -> dict[str, int]:
        """Return which choice an answer would be, by what answers may be."""
        return readings(answer, self.options, self.labels, self.written)


def read_questions(
    told: Iterable[Told],
    columns: Columns | None = None,
    path: str | Path | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> tuple[list[Entry], list[str]]:
    """Read rows as questions.

    Args:
        told: the rows.
        columns: their columns; what it leaves out is found.
        path: where they were read, for messages.
        on_progress: called now and then with the share that is done, once all rows are there.

    Returns:
        The entries, and what was done beyond what the rows say, a sentence each.

    Raises:
        FormatError: a column is not known, or what the answers are can't be told from the rows.
    """
    given = columns or Columns()
    found, apart = shaped(told, given)
    rows = [row for _, _, row, _ in found if row is not None]
    names = _columns.names_of(row or {} for _, _, row, _ in islice(found, 1000))
    if not names:
        if found:
            return [Entry(place, raw, reason=reason) for place, raw, _, reason in found], []
        raise FormatError("there are no rows", path)
    try:
        taken = plan(names, given, rows)
    except FormatError as error:
        raise FormatError(error.reason, path) from None
    taken, notes = _with_ids(taken, found)
    notes = apart + notes
    entries: list[tuple[int, Entry]] = []
    drafts: list[_Draft] = []
    used = taken.used
    for position, (place, raw, row, reason) in enumerate(found):
        if on_progress and position % EVERY == 0:
            on_progress(PARSED + (DRAFTED - PARSED) * position / len(found))
        if row is None:
            entries.append((position, Entry(place, raw, reason=reason)))
            continue
        try:
            drafts.append(_draft(taken, used, row, place, raw, position))
        except ProblemError as error:
            entries.append((position, Entry(place, raw, reason=str(error))))
    notes += _named(taken, given)
    if taken.classes:
        drafts, bad, said = _with_classes(drafts, path, named=given.choices == (taken.answer,))
        entries, notes = entries + bad, notes + said
    else:
        notes += _without_prefixes(drafts)
    if taken.may_have_blanks:
        notes += _with_blanks(drafts)
    kind = given.answer_is or _kind(drafts, path)
    if kind == "letter":
        _refuse_mixed_letters(drafts, path)
    withheld = sum(draft.answer is None and draft.key is None for draft in drafts)
    if drafts and withheld == len(drafts):
        where = f"the column {taken.answer!r} holds none" if taken.answer else "no column is known"
        notes.append(
            f"no question has an answer, as {where}; name theirs with `answer=`{_may_be(drafts)}"
        )
    elif withheld:
        have = "have" if withheld > 1 else "has"
        notes.append(f"{withheld:,} of {len(drafts):,} questions {have} no answer")
    if kind == "1" and given.answer_is is None:
        fits = Counter(k for d in drafts if d.answer is not None for k in d.own())
        notes.append(
            f"the answers are read as numbers from 1 on, which fits {fits['1']:,} of "
            f"{len(drafts) - withheld:,} of them; from 0 on fits {fits['0']:,}"
        )
    further = _columns.names_of(draft.extra for draft in drafts)
    if kind is not None:
        known = given.answer is not None or taken.classes  # classes have numbers of their own
        try:
            again = [*filter(_columns.of_answers, further)]
            notes += _without_repeats(drafts, again, kind, taken.answer or "", known)
        except FormatError as error:
            raise FormatError(error.reason, path) from None
    keys = _keys(further, path)
    for at, draft in enumerate(drafts):
        if on_progress and at % EVERY == 0:
            on_progress(DRAFTED + (1 - DRAFTED) * at / len(drafts))
        one = _base.entry(draft.place, draft.raw, partial(_problem, draft, kind, keys))
        entries.append((draft.position, one))
    in_order = [one for _, one in sorted(entries, key=itemgetter(0))]
    return paired_by_ids(in_order), notes


def _may_be(drafts: Sequence[_Draft]) -> str:
    """Return which columns may be that of the answers, as each of their cells names a choice."""
    some = drafts[:1000]
    first = islice(some[0].extra.items(), 1000)
    names = (name for name, value in first if not isinstance(value, list | dict))
    fit = [name for name in names if all(d.readings(d.extra.get(name)) for d in some)]
    return f": in {' and '.join(map(repr, fit))} each row has one" if fit else ""


_REPEATED, _AT_LEAST = 0.05, 10
"""With a greater share of rows whose id another one had, and so many at least, it is none of
items: that of a text, on which several questions are."""


def _with_ids(taken: Plan, found: Sequence[Told]) -> tuple[Plan, list[str]]:
    """Leave the column of ids out where several rows share one throughout; say so."""
    if taken.id is None:
        return taken, []
    ids = [str(row[taken.id]) for _, _, row, _ in found if row and not empty(row.get(taken.id))]
    again = len(ids) - len(set(ids))
    if again < max(_AT_LEAST, _REPEATED * len(ids)):
        return taken, []
    note = (
        f"{taken.id!r} is no id of a question, as {again:,} of {len(ids):,} rows have that of "
        "another one; the questions are numbered"
    )
    return replace(taken, id=None), [note]


def _without_repeats(
    drafts: Sequence[_Draft], names: Iterable[str], kind: str, answers: str, known: bool
) -> list[str]:
    """Remove columns from `extra` that are the key again, and report the rows that differ.

    Args:
        drafts: the rows.
        names: of the columns.
        kind: what their answers are.
        answers: the column of these.
        known: whether no other column can be meant.

    Raises:
        FormatError: another one can be: most of the rows have an answer there, often a different
            one.
    """
    notes = []
    keyed = sum(_key(draft, kind) is not None for draft in drafts)
    for name in names:
        told = [
            (draft, draft.readings(_answer(draft.extra[name])), _key(draft, kind))
            for draft in drafts
            if not (empty(draft.extra.get(name)) or isinstance(draft.extra[name], list | dict))
        ]
        told = [one for one in told if one[2] is not None]
        differ = differing((draft.place, readings, key) for draft, readings, key in told)
        if note := repeat_note(name, min(differ.values(), key=len), len(told)):
            notes.append(note)
            for draft in drafts:
                draft.extra.pop(name, None)
            continue
        fits = [
            other for other in KINDS if told and all(other in readings for _, readings, _ in told)
        ]
        lines = min((differ[other] for other in fits), key=len, default=[])
        if fits and not known and 2 * len(told) >= keyed:
            raise FormatError(
                f"{answers!r} and {name!r} may both be the answers, and differ in {len(lines):,} "
                f"of {len(told):,} rows, the first at {lines[0].inside}; say which with "
                f"`answer={answers!r}` or `answer={name!r}`"
            )
        if fits:
            notes.append(
                f"{name!r} has another answer in {len(lines):,} of {len(told):,} rows "
                f"({place_list(lines)})"
            )
    return notes


def _named(taken: Plan, given: Columns) -> list[str]:
    """Return which columns are taken for what, where that is not plain from their names."""
    if taken.classes:
        asked = " and ".join(map(repr, taken.question))
        read = f"{asked} {'are' if len(taken.question) > 1 else 'is'} read as one question"
        return [f"{read}, the labels in {taken.answer!r} as its choices"]
    notes = [f"each question is read after its {taken.aside[0]!r}"] if taken.aside else []
    if not given.question and plainly(taken.question[0]) in _columns.ASIDE.split() and not notes:
        notes = [f"{taken.question[0]!r} is read as the question"]
    if taken.guessed:
        asked, choices = (", ".join(map(repr, own)) for own in (taken.question, taken.choices))
        notes.append(f"{choices} are read as the choices, the question is {asked}")
    if taken.wrong:
        wrong = " and ".join(map(repr, taken.wrong))
        notes.append(
            f"{taken.answer!r} has the right choice, {wrong} the wrong ones: their order is drawn "
            "by lot"
        )
    return notes


def _draft(
    taken: Plan, used: Collection[str], row: Row, place: Place, raw: str, position: int
) -> _Draft:
    texts = [_text(row, name, name in taken.aside) for name in taken.question]
    question = " ".join(text for text in texts if text) if taken.aside else " ".join(texts)
    answer = None if taken.answer is None else row.get(taken.answer)
    labels: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    key = None
    if taken.wrong:
        options, key = by_lot(question, answer, [row.get(name) for name in taken.wrong], taken)
        answer = None
    elif len(taken.choices) == 1:
        cell, told = row.get(taken.choices[0]), not empty(answer)
        found = listed(cell, taken.choices[0], answered=told)
        options, labels = found.options, found.labels
        answer = _one_of(answer, len(options))
        if answer is None and found.right:
            key = _only(found.right, options)
    elif taken.choices:
        cells = [row.get(name) for name in taken.choices]
        while cells and empty(cells[-1]):
            cells.pop()
        for column, cell in zip(taken.choices, cells, strict=False):
            if empty(cell):
                raise ProblemError(
                    f"the choice {column!r} is empty, and a later one is not: fill it in, or move "
                    "those after it up, and the answer with them"
                )
        options, labels = tuple(map(written, cells)), taken.choices[: len(cells)]
    name = None if taken.id is None else row.get(taken.id)
    kept = {name: value for name, value in row.items() if name not in used}
    if taken.classes:
        kept |= {name: row[name] for name in taken.question}
    return _Draft(
        place,
        raw,
        str(position) if name is None or name == "" else str(name),
        question,
        options,
        labels,
        _answer(answer),
        kept,
        position,
        key=key,
    )


def _text(row: Row, name: str, may_lack: bool) -> str:
    value = row.get(name)
    if value is None and not may_lack:
        raise ProblemError(f"the row has no {name!r}")
    if turns := spoken(value):
        return " ".join(turns)
    if isinstance(value, Mapping) and value.keys() == {"text"}:  # of HELM
        value = value["text"]
    if may_lack and isinstance(value, list | tuple):  # the turns of a dialogue
        return " ".join(map(written, value))
    return written(value)


def _one_of(answer: Any, count: int) -> Any:
    """Return the place of the only one among zeros, from 0 on; any other answer as it is."""
    right = flagged(answer, count)
    return right[0] if right is not None and len(right) == 1 and count > 1 else answer


def _only(right: Sequence[int], options: Sequence[str]) -> int:
    if len(right) > 1:
        raise several([options[at] for at in right])
    return right[0]


def _answer(value: Any) -> Any:
    """Return an answer as it is written, None where it is withheld."""
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise several(value)
        value = value[0] if value else None
    if isinstance(value, str):
        value = value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    withheld = value is None or value == "" or (value == -1 and not isinstance(value, bool))
    return None if withheld or value == "-1" else value


def _keys(names: Iterable[str], path: str | Path | None) -> dict[str, str]:
    """Return the keys of further columns in `extra`, by their names."""
    keys = {name: extra_key(QUESTIONS.name, name) for name in names}
    twice = next((key for key, n in Counter(keys.values()).items() if n > 1), None)
    if twice is not None:
        raise FormatError(f"two columns would both be {twice!r}; rename one", path)
    return keys


def _extra(kept: Mapping[str, Any], keys: Mapping[str, str]) -> Extra:
    found: dict[str, Scalar] = {
        keys[name]: value if isinstance(value, str | int | float) else canonical(jsonable([value]))
        for name, value in kept.items()
        if value is not None and value != ""
    }
    return Extra(found)


def _with_blanks(drafts: Sequence[_Draft]) -> list[str]:
    """Mark the `_` of each sentence as its blank if most have one, apart from words."""
    some = [draft for draft in drafts if has_blank(draft.question)]
    if not some or 2 * len(some) < len(drafts):
        return []
    for draft in some:
        draft.blank = draft.question.index(BLANK)
        twin = draft.extra.pop("twin_id", None)
        draft.twin_id = None if empty(twin) else str(twin)
    others = len(drafts) - len(some)
    many = f"{others:,} of {len(drafts):,} texts"
    return [f"{many} have no single '_', and are read as questions"] if others else []


def _with_classes(
    drafts: Sequence[_Draft], path: str | Path | None, *, named: bool
) -> tuple[list[_Draft], list[tuple[int, Entry]], list[str]]:
    """Give each draft the labels of all as its choices.

    Labels that differ only in case are one. A label in a few rows that may be a typo of a frequent
    one makes its rows bad, unless the user `named` the column as that of the choices.

    Returns:
        The good drafts, the bad rows by position, and a note for each label with several spellings.
    """
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for draft in drafts:
        said = " ".join(str(draft.answer).split())
        draft.answer = None if draft.answer in (None, "-") else _WHOLE.sub(r"\1", said)
        if draft.answer is not None:
            places[draft.answer].append(draft.place)
    classes, typos, notes = _spellings(places, named=named)
    numbers = all(re.fullmatch(r"-?[0-9]+", one) for one in classes.values())
    options = tuple(sorted(classes.values(), key=int if numbers else None))
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise FormatError(f"there are {len(options)} different labels; 2 to 26 are needed", path)
    good, bad = list[_Draft](), list[tuple[int, Entry]]()
    for draft in drafts:
        label = draft.answer
        if label is not None and (meant := typos.get(label.casefold())):
            why = (
                f"the label {label!r} ({place_list(places[label])}) may be a typo of {meant!r}: "
                "correct it, or name its column with `choices=`"
            )
            bad.append((draft.position, Entry(draft.place, draft.raw, reason=why)))
            continue
        draft.answer = None if label is None else classes[label.casefold()]
        draft.options = draft.labels = options
        good.append(draft)
    return good, bad, notes


def _spellings(
    places: Mapping[str, Sequence[Place]], *, named: bool
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return the classes and the typos by their labels without case, and a note for each merger."""
    classes, typos, notes = dict[str, str](), dict[str, str](), list[str]()
    for label in sorted(places, key=lambda one: -len(places[one])):
        folded = label.casefold()
        if (same := classes.setdefault(folded, label)) != label:
            notes.append(f"the label {label!r} ({place_list(places[label])}) is read as {same!r}")
        elif len(places) <= _FEW_LABELS and not named:
            frequent = (one for one in classes.values() if _may_be_typo(label, one, places))
            if meant := next(frequent, None):
                typos[folded] = meant
    return {folded: one for folded, one in classes.items() if folded not in typos}, typos, notes


_WHOLE = re.compile(r"(-?[0-9]+)\.0")
_FEW_LABELS = 100
"""With more labels than that, typos are not looked for."""

_TYPO = 10
"""A typo of a label occurs so many times less often than the label."""


def _may_be_typo(label: str, other: str, places: Mapping[str, Sequence[Place]]) -> bool:
    """Return whether a rare word is a frequent one with one letter more, less or exchanged.

    >>> _may_be_typo("yse", "yes", {"yse": [3], "yes": [*range(10)]})
    True
    """
    one, two = label.casefold(), other.casefold()
    if not (one + two).isalpha() or max(len(one), len(two)) < 3 or one == two:
        return False
    swapped = sorted(one) == sorted(two) and sum(map(str.__ne__, one, two)) == 2
    rare = _TYPO * len(places[label]) <= len(places[other])
    return rare and (swapped or edit_distance(one, two) == 1)


def _refuse_mixed_letters(drafts: Sequence[_Draft], path: str | Path | None) -> None:
    """Refuse letters of two scripts: the Cyrillic В is the third option, the Latin B the second."""
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for draft in drafts:
        if letter := letter_of(draft.answer):
            places[letter[0]].append(draft.place)
    if len(places) > 1:
        usual, *others = sorted(places, key=lambda script: -len(places[script]))
        where = "; ".join(f"{script} in {place_list(places[script])}" for script in others)
        raise FormatError(
            f"the answers are letters of several scripts, which look alike: {usual} in most rows, "
            f"{where}; write them in one",
            *places[others[0]][0][:3],
        )


def _without_prefixes(drafts: list[_Draft]) -> list[str]:
    """Take letters or numbers ("A.", "(2)") from all choices, where all have them.

    They are what an answer names, in whatever order they stand.
    """
    found = [_prefixed(draft) for draft in drafts]
    lettered = [one for one in found if one is not None]
    if not lettered:
        return []
    if len(lettered) < len(drafts):
        return [
            f"the choices of {len(lettered):,} of {len(drafts):,} questions begin with letters "
            "such as 'A.'; they stay, as others have none"
        ]
    for draft, signs in zip(drafts, lettered, strict=True):
        draft.written = draft.options
        draft.options = tuple(PREFIX.sub("", option, count=1) for option in draft.options)
        draft.labels = signs
    return [f"the signs before choices ({lettered[0][0]!r}, …) are left out"]


def _prefixed(draft: _Draft) -> tuple[str, ...] | None:
    if draft.labels or not draft.options:
        return None
    found = [PREFIX.match(option) for option in draft.options]
    signs = tuple(match[1] or match[2] or match[3] for match in found if match)
    for series in SERIES:
        if len(signs) == len(draft.options) and sorted(signs) == sorted(series[: len(signs)]):
            return signs
    return None


def _key(draft: _Draft, kind: str | None) -> int | None:
    """Return the right choice; None where the answer is withheld or none of the choices."""
    if draft.answer is None or kind is None:
        return draft.key
    return draft.own().get(kind)


def _kind(drafts: Sequence[_Draft], path: str | Path | None) -> str | None:
    """Return what the answers are; None where all are withheld."""
    read = [(d, d.own()) for d in drafts if d.answer is not None]
    if not read:
        return None
    fits = Counter(kind for _, readings in read for kind in readings)
    if fits["label"] == len(read):
        return "label"
    ranked = fits.most_common()
    if not ranked:
        draft = read[0][0]
        raise FormatError(
            f"the answer {draft.answer!r} is none of the choices, no letter and no number of one; "
            "name the column of the answers with `answer=`, or write nothing but the letter there",
            *draft.place[:3],
        )
    best = ranked[0][0]
    missed = len(read) - fits[best]
    for other, count in ranked[1:]:
        if len(read) - count >= max(1, _CLEARLY * missed):
            continue
        unequal = [d for d, r in read if r.get(best) != r.get(other)]
        if unequal:
            first, more = unequal[0], len(unequal) - 1
            raise FormatError(
                f"the answers may be {KINDS[best]} or {KINDS[other]}, which differ for "
                f"{first.answer!r} here and in {more:,} more; say which with `answer_is={best!r}` "
                f"or `answer_is={other!r}`",
                *first.place[:3],
            )
    return best


def _problem(draft: _Draft, kind: str | None, keys: Mapping[str, str]) -> Problem:
    answer = _key(draft, kind)
    if answer is None and draft.answer is not None and kind is not None:
        fits = fitting(draft.answer, draft.options, draft.labels)
        if kind in ("text", "label") and len(fits) > 1:
            places = " and ".join(str(at + 1) for at in fits)
            raise ProblemError(f"the answer {draft.answer!r} fits the choices {places}; keep one")
        raise ProblemError(
            f"the answer is {draft.answer!r}; answers are {KINDS[kind]} here, and it is none "
            f"of its {len(draft.options)} choices"
        )
    return Problem(
        draft.id, draft.question, draft.options, answer, draft.twin_id,
        extra=_extra(draft.extra, keys), blank=draft.blank,
    )  # fmt: skip


def _write(items: Sequence[Item], file: IO[str]) -> None:
    for problem in _base.problems_of(items):
        if problem.blank is not None:
            raise _base.cannot_write(problem, "it has a blank, and the format holds questions")
        signs = list(ascii_uppercase[: len(problem.options)])
        record: dict[str, Any] = {
            "id": problem.id,
            "question": problem.sentence,
            "choices": {"text": list(problem.options), "label": signs},
            "answerKey": "" if problem.answer is None else signs[problem.answer],
        }
        for key, value in problem.extra.items():
            name = key.removeprefix("questions.")
            if name != key and plainly(name) not in _TAKEN and not _columns.of_answers(name):
                record[name] = value
        file.write(canonical(record) + "\n")


_TAKEN = frozenset(
    " ".join(
        (
            _columns.QUESTION,
            _columns.ASIDE,
            _columns.CHOICES,
            _columns.ID,
            *map(" ".join, _columns.PAIRS),
        )
    ).split()
)
"""Names that a reader would take for something else than a column of its own."""

QUESTIONS = Format(
    name="questions",
    title="rows with question, choices, answer: JSON Lines, one JSON value, a table, Parquet",
    sign=recognises,
    read=_read,
    writer=Writer(
        _write,
        suffix=".jsonl",
        keeps=frozenset({"id", "sentence", "options", "answer", "blank"}),
    ),
)
