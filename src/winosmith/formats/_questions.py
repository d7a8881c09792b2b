"""Multiple-choice questions as rows: question, choices, answer, in whatever columns they are.

A row has a question, choices and an answer under the names that published sets use, or under those
that are given (`Columns`). Choices are one list, columns of their own (`A`, `B`, `C`; `sol1`,
`sol2`), or texts with labels, as ARC has them. An answer is a letter, a number, one of the texts,
or a label; which it is holds for a whole file. A premise and a hypothesis make one question, whose
choices are the labels of all the file. Columns that are nothing of this go to `extra` as
`questions.NAME`. JSON Lines, JSON arrays, tables, Parquet, and tables in memory hold such rows.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any, Literal, get_args

from winosmith.errors import FormatError, InputError, ProblemError, require
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Item, Source
from winosmith.problem import Extra, Problem, Scalar
from winosmith.records import canonical, parsed

Row = Mapping[str, Any]
Told = tuple[int, str, Row | None, str | None]
"""Line, text, cells by column, and why there are none."""

AnswerIs = Literal["letter", "0", "1", "text", "label"]
"""What an answer is: a letter, a number from 0 or from 1 on, the text of a choice, or its label."""

_WORDS = {
    "letter": "letters",
    "0": "numbers from 0 on",
    "1": "numbers from 1 on",
    "text": "texts of choices",
    "label": "labels of choices",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of questions, where a file does not name them as others do.

    Attributes:
        question: of the question; several are joined with a space, in this order. Empty: found.
        choices: of the choices: one with lists, or one a choice. Empty: found.
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


_QUESTION = ("question", "question_stem", "stem", "query", "prompt", "problem", "goal", "ctx")
_ASIDE = ("context", "passage", "article", "paragraph")
"""Columns with a text that the question is about."""

_CHOICES = ("choices", "options", "endings", "candidates", "answers", "answer_choices")
_CHOICE = re.compile(
    r"(?:(?i:option|choice|answer|opt|op|sol|solution|ending|candidate)[ _]?)?([aA01])"
)
"""The first of the columns that have a choice each."""

_ANSWER = (
    "answer answerKey answer_key label gold gold_label target correct correct_answer correct_option"
    " cop answer_idx answer_index key"
).split()
_PAIRS = (("premise", "hypothesis"), ("sentence1", "sentence2"))
_ID = ("id", "qID", "qid", "question_id", "uid", "ind", "idx")

_PREFIX = re.compile(r"\s*\(?([A-Za-z]|[0-9]{1,2})[.):]\s+(?=\S)")
_LETTER = re.compile(r"\s*\(?([A-Za-z])[.):]?\s*")
_LOOK = 20

_CLEARLY = 5
"""A reading of the answers must fit so many times better than the next one, where none fits all."""


def is_table(data: object) -> bool:
    """Tell whether this is a pandas DataFrame or a data set of Hugging Face's library."""
    return type(data).__module__.split(".")[0] in ("pandas", "datasets")


def table_rows(data: Any) -> Iterator[Told]:
    """Yield the rows of a table in memory, each with its 1-based number.

    Raises:
        FormatError: it is a collection of several tables.
    """
    if isinstance(data, Mapping):
        names = ", ".join(map(str, data))
        raise FormatError(f"this holds several tables; give one of them: {names}")
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        records: Iterable[Row] = data.to_dict("records")
    else:
        records = data
    classes = _class_names(data)
    for number, record in enumerate(records, 1):
        row = {str(key): _plain(classes.get(key, {}), value) for key, value in record.items()}
        yield number, canonical(_jsonable(row)), row, None


def _class_names(data: Any) -> dict[str, dict[int, str]]:
    """Return the names of classes, which Hugging Face keeps beside their numbers."""
    features = getattr(data, "features", None) or {}
    return {
        column: dict(enumerate(feature.names))
        for column, feature in features.items()
        if getattr(feature, "names", None)
    }


def _plain(names: Mapping[int, str], value: Any) -> Any:
    """Return a value as JSON can hold it; a number that is none, as pandas has it, is None."""
    if hasattr(value, "tolist"):  # of numpy: a scalar or an array
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and value in names:
        return names[value]
    if isinstance(value, Mapping):
        return {str(key): _plain({}, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain({}, one) for one in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _jsonable(row: Any) -> Any:
    return json.loads(json.dumps(row, default=str))


def is_parquet(path: str | Path) -> bool:
    """Tell whether a file begins as Parquet does."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def parquet_rows(path: str | Path) -> Iterator[Told]:
    """Yield the rows of a Parquet file, each with its 1-based number.

    Raises:
        FormatError: it can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    parquet = require("pyarrow.parquet", "release")
    try:
        batches = parquet.ParquetFile(path).iter_batches()
        number = 0
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                row = {name: _plain({}, value) for name, value in record.items()}
                yield number, canonical(_jsonable(row)), row, None
    except (OSError, ValueError) as error:
        raise FormatError(f"this Parquet file can't be read: {error}", path) from None


def source_rows(source: Source) -> Iterator[Told]:
    """Yield the rows of a file of text: JSON Lines, a JSON array, or a table."""
    if source.start.startswith("["):
        yield from _base.array_records(source)
    elif source.start.startswith("{"):
        for number, line in source.lines():
            try:
                record = parsed(line)
            except ValueError as error:
                yield number, line, None, f"the line is not JSON: {error}"
                continue
            good = isinstance(record, dict)
            yield number, line, record if good else None, None if good else "no JSON object"
    else:
        yield from _base.rows(source)


def recognises(source: Source) -> bool:
    """Tell whether a file of text has columns of questions."""
    names: Sequence[str] = list(source.first_record or source.first_element)
    if not names:
        names = [cell.strip() for cell in max(source.headers.values(), key=len)]
    first = _flat(source.first_record or source.first_element)
    try:
        plan = _plan([*dict.fromkeys([*names, *first])], Columns())
    except FormatError:
        return False
    # Any mapping of words may hold "question" and "options"; choices are several.
    alone = first.get(plan.choices[0]) if len(plan.choices) == 1 else None
    return not isinstance(alone, str) or alone.lstrip().startswith(("[", "{"))


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which columns are what; `classes` where the labels of all rows are the choices."""

    question: tuple[str, ...]
    choices: tuple[str, ...]
    answer: str | None
    id: str | None
    classes: bool

    @property
    def used(self) -> set[str]:
        return {*self.question, *self.choices, self.answer or "", self.id or ""}


def _plan(names: Sequence[str], given: Columns) -> _Plan:
    for name in (*given.question, *given.choices, *filter(None, [given.answer])):
        if name not in names:
            raise FormatError(f"there is no column {name!r}; there are {', '.join(names)}")
    if _first(["premise"], names) and _first(["question"], names) and not given.question:
        raise FormatError("there are a premise and a question: name one or both with --question")
    pairs = (tuple(_first([name], names) for name in pair) for pair in _PAIRS)
    pair = next((tuple(filter(None, pair)) for pair in pairs if all(pair)), ())
    question = given.question
    if not question and (found := _first(_QUESTION, names)):
        aside = _first(_ASIDE, names) if found.casefold() == "question" else None
        question = (aside, found) if aside else (found,)
    answer = given.answer or _first(_ANSWER, names)
    choices = given.choices or _choices(names, answer)
    classes = bool(pair) and not choices and answer is not None
    if classes and not given.question:
        question = pair
    told = f"; the columns are {', '.join(names)}"
    if not question:
        raise FormatError(f"no column is known for questions: name it with --question{told}")
    if not choices and not classes:
        raise FormatError(f"no column is known for the choices: name them with --choices{told}")
    others = [name for name in names if name not in {*question, *choices, answer}]
    return _Plan(question, choices, answer, _first(_ID, others), classes)


def _first(wanted: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the first of the wanted names that is there, as it is written there."""
    written = {name.casefold(): name for name in reversed(names)}
    return next((written[name.casefold()] for name in wanted if name.casefold() in written), None)


def _choices(names: Sequence[str], answer: str | None) -> tuple[str, ...]:
    one = _first(_CHOICES, [name for name in names if name != answer])
    if one is not None:
        return (one,)
    for first in names:
        if found := _CHOICE.fullmatch(first):
            stem, sign = first[:-1], found[1]
            following = ascii_uppercase if sign in "aA" else map(str, range(int(sign), 27))
            series = [f"{stem}{s.lower() if sign == 'a' else s}" for s in following]
            there = next((n for n, name in enumerate(series) if name not in names), len(series))
            if there >= 2:
                return tuple(series[:there])
    return ()


def _flat(record: Row) -> Row:
    """Return a row with ARC's `{"question": {"stem": …, "choices": …}}` in columns of its own."""
    inside = record.get("question")
    if not isinstance(inside, dict):
        return record
    apart = {name: value for name, value in inside.items() if name != "stem"}
    return {**record, **apart, "question": inside.get("stem")}


@dataclass(slots=True)
class _Draft:
    """A row on its way to a problem; `labels` where the choices have some, or columns.

    `written` are choices as they were before a sign was taken from each.
    """

    line: int
    raw: str
    id: str
    question: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    answer: Any
    extra: Extra
    written: tuple[str, ...] = ()


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
    names = list(dict.fromkeys(n for _, _, row, _ in islice(found, 1000) for n in row or ()))
    if not names:
        if found:
            return [Entry(line, raw, reason=reason) for line, raw, _, reason in found], []
        raise FormatError("there are no rows", path)
    try:
        plan = _plan(names, given)
    except FormatError as error:
        raise FormatError(error.reason, path) from None
    entries: list[Entry] = []
    drafts: list[_Draft] = []
    for position, (line, raw, row, reason) in enumerate(found):
        if row is None:
            entries.append(Entry(line, raw, reason=reason))
            continue
        try:
            drafts.append(_draft(plan, row, line, raw, position))
        except ProblemError as error:
            entries.append(Entry(line, raw, reason=str(error)))
    notes = _named(plan, given)
    if plan.classes:
        _take_classes(drafts, path)
    else:
        notes += _without_prefixes(drafts)
    kind = given.answer_is or _kind(drafts, path)
    withheld = sum(draft.answer is None for draft in drafts)
    if kind and withheld:
        notes.append(f"{withheld:,} of {len(drafts):,} questions have no answer")
    if kind == "1" and given.answer_is is None:
        notes.append("the answers are read as numbers from 1 on, which alone fits all of them")
    entries += [_base.entry(d.line, d.raw, lambda d=d: _problem(d, kind)) for d in drafts]  # type: ignore[misc]
    return sorted(entries, key=lambda one: one.line), notes


def _named(plan: _Plan, given: Columns) -> list[str]:
    """Return which columns are taken for what, where that is not plain from their names."""
    if plan.classes:
        asked = " and ".join(map(repr, plan.question))
        return [f"{asked} are read as one question, the labels in {plan.answer!r} as its choices"]
    if len(plan.question) > 1 and not given.question:
        return [f"each question is read after its {plan.question[0]!r}"]
    return []


def _draft(plan: _Plan, row: Row, line: int, raw: str, position: int) -> _Draft:
    question = " ".join(_text(row, name) for name in plan.question)
    labels: tuple[str, ...] = ()
    if plan.classes:
        options: tuple[str, ...] = ()
    elif len(plan.choices) == 1:
        options, labels = _listed(row.get(plan.choices[0]), plan.choices[0])
    else:
        cells = [row.get(name) for name in plan.choices]
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        options, labels = tuple(map(_written, cells)), plan.choices[: len(cells)]
    key = None if plan.id is None else row.get(plan.id)
    kept = {name: value for name, value in row.items() if name not in plan.used}
    if plan.classes:
        kept |= {name: row[name] for name in plan.question}
    return _Draft(
        line,
        raw,
        str(position) if key is None or key == "" else str(key),
        question,
        options,
        labels,
        None if plan.answer is None else _answer(row.get(plan.answer)),
        _extra(kept),
    )


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if value is None:
        raise ProblemError(f"the row has no {name!r}")
    return _written(value)


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    raise ProblemError(f"a text is needed, not {str(value)[:60]!r}")


def _listed(value: Any, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the choices of one cell, and their labels where it has some."""
    if isinstance(value, str):
        value = _unpacked(value, name)
    if isinstance(value, Mapping):
        if {"text", "label"} <= value.keys():
            texts, labels = value["text"], value["label"]
            if isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels):
                return tuple(map(_written, texts)), tuple(map(str, labels))
            raise ProblemError(f"{name!r} has not as many labels as texts")
        return tuple(map(_written, value.values())), tuple(map(str, value))
    if not isinstance(value, list | tuple):
        raise ProblemError(f"{name!r} must be a list of choices, not {str(value)[:60]!r}")
    if value and all(isinstance(one, Mapping) and "text" in one for one in value):
        labels = [str(one["label"]) for one in value if "label" in one]
        return tuple(_written(one["text"]) for one in value), tuple(
            labels if len(labels) == len(value) else ()
        )
    return tuple(map(_written, value)), ()


def _unpacked(cell: str, name: str) -> Any:
    """Return the list that a cell of a table writes, as JSON or as Python does."""
    for read in (parsed, ast.literal_eval):
        try:
            value = read(cell.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, list | tuple | dict):
            return value
    raise ProblemError(f"{name!r} must be a list of choices, not {cell[:60]!r}")


def _answer(value: Any) -> Any:
    """Return an answer as it is written, None where it is withheld."""
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise ProblemError(
                f"it has {len(value)} right answers ({str(list(value))[:60]}); one is needed: "
                "keep one, or make a question of each"
            )
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
        found[key] = (
            value if isinstance(value, str | int | float) else canonical(_jsonable([value]))
        )
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
    """Take letters or numbers in order ("A.", "(2)") from all choices, where all have them."""
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
        draft.options = tuple(_PREFIX.sub("", option, count=1) for option in draft.options)
        draft.labels = signs
    return [f"the signs before choices ({lettered[0][0]!r}, …) are left out"]


def _prefixed(draft: _Draft) -> tuple[str, ...] | None:
    if draft.labels or not draft.options:
        return None
    found = [_PREFIX.match(option) for option in draft.options]
    signs = tuple(match[1] for match in found if match)
    for first in (ascii_uppercase, ascii_uppercase.lower(), [*map(str, range(1, 100))]):
        if len(signs) == len(draft.options) and list(signs) == list(first[: len(signs)]):
            return signs
    return None


def _readings(draft: _Draft) -> dict[str, int]:
    """Return what the answer would be, by what an answer may be; what does not fit is left out."""
    value, count = draft.answer, len(draft.options)
    said = " ".join(str(value).split())
    found: dict[str, int] = {}
    if said in draft.labels:
        found["label"] = draft.labels.index(said)
    for texts in (draft.options, draft.written):
        tidied = [" ".join(text.split()) for text in texts]
        if tidied.count(said) == 1:
            found["text"] = tidied.index(said)
    if isinstance(value, bool):
        return found
    if isinstance(value, str) and (letter := _LETTER.fullmatch(value)):
        at = ascii_uppercase.index(letter[1].upper())
        found |= {"letter": at} if at < count else {}
    if isinstance(value, int) or re.fullmatch(r"[0-9]{1,4}", said):
        number = int(value)
        found |= {"0": number} if 0 <= number < count else {}
        found |= {"1": number - 1} if 1 <= number <= count else {}
    return found


def _kind(drafts: Sequence[_Draft], path: str | Path | None) -> str | None:
    """Return what the answers are; None where all are withheld."""
    read = [(draft, _readings(draft)) for draft in drafts if draft.answer is not None]
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
            "name the column of the answers with --answer",
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
                f"the answers may be {_WORDS[best]} or {_WORDS[other]}, which differ for "
                f"{first.answer!r} here and in {more:,} more; say which with --answer-is {best} or "
                f"--answer-is {other}",
                path,
                first.line,
            )
    return best


def _problem(draft: _Draft, kind: str | None) -> Problem:
    answer = None
    if draft.answer is not None and kind is not None:
        answer = _readings(draft).get(kind)
        if answer is None:
            raise ProblemError(
                f"the answer is {draft.answer!r}; answers are {_WORDS[kind]} here, and it is none "
                f"of its {len(draft.options)} choices"
            )
    return Problem(draft.id, draft.question, draft.options, answer, extra=draft.extra, blank=None)


def _read(source: Source) -> Iterable[Entry]:
    return read_questions(source_rows(source), None, source.path)[0]


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
            if name != key and name.casefold() not in _TAKEN:
                record[name] = value
        file.write(canonical(record) + "\n")


_TAKEN = {
    name.casefold()
    for names in (_QUESTION, _ASIDE, _CHOICES, _ANSWER, _ID, *_PAIRS)
    for name in names
}
"""Names that a reader would take for something else than a column of its own."""

QUESTIONS = Format(
    name="questions",
    title="rows with question, choices, answer: JSON Lines, an array, a table, Parquet",
    recognises=recognises,
    read=_read,
    write=_write,
    suffix=".jsonl",
    keeps=frozenset({"id", "sentence", "options", "answer", "blank"}),
)
