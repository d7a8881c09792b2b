"""Multiple-choice questions as rows: question, choices, answer, in whatever columns they are.

Which column is what, `_columns` tells; what the choices of a cell are, `_choices`; which of them an
answer names, `_answers`. What answers are holds for a whole file. A premise and a
hypothesis make one question, whose choices are the labels of all the file. A right answer with
wrong ones beside it gets an order by lot. Columns that are nothing of this go to `extra` as
`questions.NAME`. JSON Lines, JSON arrays, tables, Parquet, and tables in memory hold such rows.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shlex import quote
from string import ascii_uppercase
from typing import IO, Any

from winosmith.errors import FormatError, ProblemError
from winosmith.formats import _base, _columns
from winosmith.formats._answers import KINDS, readings
from winosmith.formats._base import Entry, Format, Item, Source
from winosmith.formats._choices import (
    PREFIX,
    SERIES,
    flagged,
    inside,
    listed,
    lists,
    parted,
    spoken,
    written,
)
from winosmith.formats._columns import Columns, Plan, Row, empty, plainly, plan
from winosmith.formats._enclosed import enclosed
from winosmith.formats._tables import Told, jsonable
from winosmith.problem import Extra, Problem, Scalar
from winosmith.records import canonical

_LOOK = 20

_CLEARLY = 5
"""A reading of the answers must fit so many times better than the next one, where none fits all."""


def source_rows(source: Source) -> tuple[Iterator[Told], list[str]]:
    """Return the rows of a file of text, and where they were if that is not plain.

    It is JSON Lines, a JSON array, an object that holds one, or a table.
    """
    if source.start.startswith("["):
        return _base.array_records(source), []
    if source.start.startswith("{"):
        found = enclosed(source)
        return (found.rows, [found.where]) if found else (_base.line_records(source), [])
    return _base.rows(source, quoted=_base.quoted(source)), []


def _read_source(source: Source) -> list[Entry]:
    return read_questions(source_rows(source)[0], None, source.path)[0]


def recognises(source: Source) -> bool:
    """Tell whether a file of text has columns of questions."""
    names, record = _first_row(source)
    [record], _ = _apart([record], Columns())
    try:
        found = plan([*dict.fromkeys([*names, *record])], Columns(), [record])
    except FormatError:
        return False
    # Any mapping of words may hold "question" and "options"; choices are several.
    alone = record.get(found.choices[0]) if len(found.choices) == 1 else None
    return not isinstance(alone, str) or lists(alone)


def _first_row(source: Source) -> tuple[list[str], Row]:
    """Return the names of the columns, and the first row that can be read, if one can."""
    told = (row for _, _, row, _ in source_rows(source)[0])
    try:
        row = _flat(next(filter(None, islice(told, _LOOK)), {}))
    except FormatError:
        row = {}
    if source.start.startswith(("{", "[")):
        return [*row], row
    return [cell.strip() for cell in max(source.headers.values(), key=len)], row


def lacking(source: Source) -> tuple[str, bool]:
    """Return why a file of text is not read as questions, and whether it has a column of them.

    "" where it has no columns.
    """
    names, row = _first_row(source)
    table = not source.start.startswith(("{", "[", "<"))
    if len(names) < 2 or source.start.startswith("<"):
        return "", False
    try:
        plan(names, Columns(), [row])
    except FormatError as error:
        named = " (does the first line name the columns?)" if table else ""
        asks = _columns.first([*_columns.QUESTION.split(), "questions"], names)
        where = "".join(f"{one}; " for one in source_rows(source)[1])
        return f"{where}{error.reason}{named}", asks is not None
    return "the choices of its first row are no list of several", True


def _flat(record: Row) -> Row:
    """Return a row with ARC's `{"question": {"stem": …, "choices": …}}` in columns of its own."""
    inside = record.get("question")
    if not isinstance(inside, dict):
        return record
    apart = {name: value for name, value in inside.items() if name != "stem"}
    return {**record, **apart, "question": inside.get("stem")}


def _apart(rows: Sequence[Row], given: Columns) -> tuple[list[Row], list[str]]:
    """Give what one column holds together a column each, in rows where most have it so; say so.

    That is a question and its choices, or the question that two chats answer.
    """
    names = list(dict.fromkeys(name for row in islice(rows, 1000) for name in row))
    asked, two = _columns.together(names, given)
    if not asked and not two:
        return list(rows), []
    if asked:
        told = f"the choices are those at the end of each {asked!r}"
        said = [_said_last(row.get(asked)) for row in rows]
        cut = [inside(text) if isinstance(text, str) else None for text in said]
        new: list[Row | None] = [
            one
            and {asked: one[0], "choices": dict(zip(one[1].labels, one[1].options, strict=True))}
            for one in cut
        ]
    else:
        told = f"what {two[0]!r} and {two[1]!r} share at their beginning is the question"
        both = [parted(*map(row.get, two)) for row in rows]
        new = [one and dict(zip(("question", *two), one, strict=True)) for one in both]
    if 2 * sum(map(bool, new)) <= len(rows):
        return list(rows), []
    return [{**row, **(one or {})} for row, one in zip(rows, new, strict=True)], [told]


def _said_last(value: Any) -> Any:
    """Return the last turn of a chat; what is none as it is."""
    turns = spoken(value)
    return turns[-1] if turns else value


@dataclass(slots=True)
class _Draft:
    """A row on its way to a problem; `labels` where the choices have some, or columns.

    `written` are choices as they were before a sign was taken from each; `key` is the right one
    where the row itself says so.
    """

    line: int
    raw: str
    id: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    answer: Any
    extra: dict[str, Any]
    written: tuple[str, ...] = ()
    key: int | None = None

    def readings(self, answer: Any) -> dict[str, int]:
        """Return which choice an answer would be, by what answers may be."""
        return readings(answer, self.options, self.labels, self.written)


def read_questions(
    told: Iterable[Told], columns: Columns | None = None, path: str | Path | None = None
) -> tuple[list[Entry], list[str]]:
    """Read rows as questions.

    Args:
        told: the rows.
        columns: their columns; what it leaves out is found.
        path: where they were read, for messages.

    Returns:
        The entries, and what was done beyond what the rows say, a sentence each.

    Raises:
        FormatError: a column is not known, or what the answers are can't be told from the rows.
    """
    given = columns or Columns()
    found = [
        (line, raw, None if row is None else _flat(row), reason) for line, raw, row, reason in told
    ]
    rows, apart = _apart([row for _, _, row, _ in found if row is not None], given)
    anew = iter(rows)
    found = [
        (line, raw, None if row is None else next(anew), reason) for line, raw, row, reason in found
    ]
    names = list(dict.fromkeys(n for _, _, row, _ in islice(found, 1000) for n in row or ()))
    if not names:
        if found:
            return [Entry(line, raw, reason=reason) for line, raw, _, reason in found], []
        raise FormatError("there are no rows", path)
    try:
        taken = plan(names, given, rows)
    except FormatError as error:
        raise FormatError(error.reason, path) from None
    taken, notes = _with_ids(taken, found)
    notes = apart + notes
    entries: list[Entry] = []
    drafts: list[_Draft] = []
    for position, (line, raw, row, reason) in enumerate(found):
        if row is None:
            entries.append(Entry(line, raw, reason=reason))
            continue
        try:
            drafts.append(_draft(taken, row, line, raw, position))
        except ProblemError as error:
            entries.append(Entry(line, raw, reason=str(error)))
    notes += _named(taken, given)
    if taken.classes:
        _take_classes(drafts, path)
    else:
        notes += _without_prefixes(drafts)
    kind = given.answer_is or _kind(drafts, path)
    withheld = sum(draft.answer is None and draft.key is None for draft in drafts)
    if drafts and withheld == len(drafts):
        where = f"the column {taken.answer!r} holds none" if taken.answer else "no column is known"
        notes.append(f"no question has an answer, as {where}; name theirs with --answer")
    elif withheld:
        notes.append(f"{withheld:,} of {len(drafts):,} questions have no answer")
    if kind == "1" and given.answer_is is None:
        fits = Counter(k for d in drafts if d.answer is not None for k in d.readings(d.answer))
        notes.append(
            f"the answers are read as numbers from 1 on, which fits {fits['1']:,} of "
            f"{len(drafts) - withheld:,} of them; from 0 on fits {fits['0']:,}"
        )
    if kind is not None:
        known = given.answer is not None or taken.classes  # classes have numbers of their own
        try:
            notes += _without_repeats(drafts, kind, taken.answer or "", known)
        except FormatError as error:
            raise FormatError(error.reason, path) from None
    entries += [_base.entry(d.line, d.raw, lambda d=d: _problem(d, kind)) for d in drafts]  # type: ignore[misc]
    return sorted(entries, key=lambda one: one.line), notes


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


def _without_repeats(drafts: Sequence[_Draft], kind: str, answers: str, known: bool) -> list[str]:
    """Take columns out of `extra` that say the answer once more, and tell those that differ.

    Args:
        drafts: the rows.
        kind: what their answers are.
        answers: the column of these.
        known: whether no other column can be meant.

    Raises:
        FormatError: another one can be: most of the rows have an answer there, often a different
            one.
    """
    names = dict.fromkeys(name for d in drafts for name in d.extra if _columns.of_answers(name))
    notes = []
    keyed = sum(_key(draft, kind) is not None for draft in drafts)
    for name in names:
        told = [
            (draft, draft.readings(_answer(draft.extra[name])), _key(draft, kind))
            for draft in drafts
            if not (empty(draft.extra.get(name)) or isinstance(draft.extra[name], list | dict))
        ]
        told = [one for one in told if one[2] is not None]
        differ = {
            other: [draft.line for draft, readings, key in told if readings.get(other) != key]
            for other in KINDS
        }
        lines = min(differ.values(), key=len)
        if told and not lines:
            notes.append(f"{name!r} says the same as the answer, and is left out")
            for draft in drafts:
                draft.extra.pop(name, None)
            continue
        few = 10 * len(lines) < len(told)
        fits = [
            other for other in KINDS if told and all(other in readings for _, readings, _ in told)
        ]
        if fits and not few:
            lines = min((differ[other] for other in fits), key=len)
        if fits and not few and not known and 2 * len(told) >= keyed:
            raise FormatError(
                f"{answers!r} and {name!r} may both be the answers, and differ in {len(lines):,} "
                f"of {len(told):,} rows, the first at line {lines[0]}; say which with --answer "
                f"{quote(answers)} or --answer {quote(name)}"
            )
        if few or fits:
            notes.append(
                f"{name!r} tells another answer in {len(lines):,} of {len(told):,} rows, the first "
                f"at line {lines[0]}"
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
    if taken.wrong:
        wrong = " and ".join(map(repr, taken.wrong))
        notes.append(
            f"{taken.answer!r} has the right choice, {wrong} the wrong ones: their order is drawn "
            "by lot"
        )
    return notes


def _draft(taken: Plan, row: Row, line: int, raw: str, position: int) -> _Draft:
    texts = [_text(row, name, name in taken.aside) for name in taken.question]
    question = " ".join(text for text in texts if text) if taken.aside else " ".join(texts)
    answer = None if taken.answer is None else row.get(taken.answer)
    labels: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    key = None
    if taken.wrong:
        options, key = _by_lot(question, answer, [row.get(name) for name in taken.wrong], taken)
        answer = None
    elif len(taken.choices) == 1:
        found = listed(row.get(taken.choices[0]), taken.choices[0])
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
    kept = {name: value for name, value in row.items() if name not in taken.used}
    if taken.classes:
        kept |= {name: row[name] for name in taken.question}
    return _Draft(
        line,
        raw,
        str(position) if name is None or name == "" else str(name),
        question,
        options,
        labels,
        _answer(answer),
        kept,
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


def _by_lot(
    question: str, right: Any, wrong: Sequence[Any], taken: Plan
) -> tuple[tuple[str, ...], int]:
    """Return the right choice among the wrong ones, in an order that the texts decide."""
    others = wrong if len(wrong) > 1 else _wrong_ones(wrong[0], taken.wrong[0])
    if isinstance(right, list | tuple) and len(right) > 1 and not spoken(right):
        raise _several(right)
    own = spoken(right) or (list(right) if isinstance(right, list | tuple) else [right])
    if isinstance(right, str) and plainly(taken.answer or "").endswith("s"):
        own = [*_wrong_ones(right, taken.answer or "")]
        if len(own) > 1:
            raise _several(own)
    texts = [written(own[-1] if own else None)]
    texts += [written(one) for one in others if not empty(one)]
    if not texts[0].strip():
        raise ProblemError(f"the row has no {taken.answer!r}")

    def lot(text: str) -> bytes:
        return hashlib.sha256(f"{question}\n{text}".encode("utf-8", "surrogatepass")).digest()

    options = tuple(sorted(texts, key=lot))
    return options, options.index(texts[0])


def _wrong_ones(cell: Any, name: str) -> Sequence[Any]:
    """Return the wrong choices of one cell: a list, a chat's last turn, or texts with ; between."""
    if turns := spoken(cell):
        return turns[-1:]
    several = plainly(name).endswith("s")  # "Incorrect Answers", as TruthfulQA's table has them
    if isinstance(cell, str) and not several:  # one text, though steps of it are numbered
        try:
            return listed(cell, name).options if cell.lstrip()[:1] in ("[", "{") else [cell]
        except ProblemError:  # "[Name], …"
            return [cell]
    if not isinstance(cell, str) or lists(cell):
        return listed(cell, name).options
    return [text.strip() for text in cell.split(";")]


def _one_of(answer: Any, count: int) -> Any:
    """Return the place of the only one among zeros, from 0 on; any other answer as it is."""
    right = flagged(answer, count)
    return right[0] if right is not None and len(right) == 1 and count > 1 else answer


def _only(right: Sequence[int], options: Sequence[str]) -> int:
    if len(right) > 1:
        raise _several([options[at] for at in right])
    return right[0]


def _several(right: Sequence[Any]) -> ProblemError:
    return ProblemError(
        f"it has {len(right)} right answers ({str(list(right))[:60]}); one is needed: keep one, or "
        "make a question of each"
    )


def _answer(value: Any) -> Any:
    """Return an answer as it is written, None where it is withheld."""
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise _several(value)
        value = value[0] if value else None
    if isinstance(value, str):
        value = value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    withheld = value is None or value == "" or (value == -1 and not isinstance(value, bool))
    return None if withheld or value == "-1" else value


def _extra(kept: Mapping[str, Any]) -> Extra:
    found: dict[str, Scalar] = {}
    for name, value in kept.items():
        key = "questions." + (re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "unnamed")
        if key in found:
            raise ProblemError(f"two columns would both be {key!r}; rename {name!r}")
        if value is None or value == "":
            continue
        found[key] = value if isinstance(value, str | int | float) else canonical(jsonable([value]))
    return Extra(found)


def _take_classes(drafts: list[_Draft], path: str | Path | None) -> None:
    """Give each draft the labels of all as its choices."""
    for draft in drafts:
        draft.answer = None if draft.answer == "-" else draft.answer
    classes = {str(draft.answer) for draft in drafts if draft.answer is not None}
    numbers = all(re.fullmatch(r"-?[0-9]+", one) for one in classes)
    options = tuple(sorted(classes, key=int if numbers else None))
    if not 2 <= len(options) <= len(ascii_uppercase):
        raise FormatError(f"there are {len(options)} different labels; 2 to 26 are needed", path)
    for draft in drafts:
        draft.options = draft.labels = options


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
    return draft.readings(draft.answer).get(kind)


def _kind(drafts: Sequence[_Draft], path: str | Path | None) -> str | None:
    """Return what the answers are; None where all are withheld."""
    read = [(d, d.readings(d.answer)) for d in drafts if d.answer is not None]
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
            "name the column of the answers with --answer, or write nothing but the letter there",
            path,
            draft.line,
        )
    best = ranked[0][0]
    missed = len(read) - fits[best]
    for other, fitting in ranked[1:]:
        if len(read) - fitting >= max(1, _CLEARLY * missed):
            continue
        differing = [d for d, r in read if r.get(best) != r.get(other)]
        if differing:
            first, more = differing[0], len(differing) - 1
            raise FormatError(
                f"the answers may be {KINDS[best]} or {KINDS[other]}, which differ for "
                f"{first.answer!r} here and in {more:,} more; say which with --answer-is {best} or "
                f"--answer-is {other}",
                path,
                first.line,
            )
    return best


def _problem(draft: _Draft, kind: str | None) -> Problem:
    answer = _key(draft, kind)
    if answer is None and draft.answer is not None and kind is not None:
        raise ProblemError(
            f"the answer is {draft.answer!r}; answers are {KINDS[kind]} here, and it is none "
            f"of its {len(draft.options)} choices"
        )
    return Problem(
        draft.id, draft.question, draft.options, answer, extra=_extra(draft.extra), blank=None
    )


def _write(items: Sequence[Item], file: IO[str]) -> None:
    for problem in _base.problems_of(items, places=True):
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
    recognises=recognises,
    read=_read_source,
    write=_write,
    suffix=".jsonl",
    keeps=frozenset({"id", "sentence", "options", "answer", "blank"}),
)
