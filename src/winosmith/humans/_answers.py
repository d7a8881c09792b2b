"""Read and check subjects' answers from forms and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith import data
from winosmith.errors import DataError, FormatError, InputError
from winosmith.humans._sheet import AMBIGUOUS, Sheet, read_record
from winosmith.response import Response
from winosmith.text import normalize_name


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer on a sheet.

    Attributes:
        letter: letter of the option ("A", "B", …), or "X" for an ambiguous question.
        seconds: time spent on the question, in seconds; None if not measured.
        where: file and line of the answer, for error messages.
    """

    letter: str
    seconds: float | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class SheetRemark:
    """A subject's remark that they recognised a text or did not know a word.

    Attributes:
        number: number of the question; None if not stated.
        text: the remark.
    """

    number: int | None
    text: str


@dataclass(frozen=True)
class Sitting:
    """One subject's filled-in sheet.

    Attributes:
        subject: code of the subject; never a name.
        sheet: the sheet.
        answers: answers by question number; unanswered questions are omitted.
        started: start time in ISO 8601; None if unknown.
        ended: end time in ISO 8601; None if unknown.
        seconds: time spent on the whole sheet, in seconds; None if it was not measured.
        recognised: texts that the subject recognised.
        words: words that the subject asked about.
        native: whether English is the subject's first language; None if not declared.
        attributes: the subject's other answers about themselves, by name.
        where: location of the answers, for error messages.
    """

    subject: str
    sheet: Sheet
    answers: Mapping[int, Answer]
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    recognised: tuple[SheetRemark, ...] = ()
    words: tuple[SheetRemark, ...] = ()
    native: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    @property
    def self_description(self) -> dict[str, str]:
        """The subject's answers about themselves; "native" is "yes" or "no"."""
        native = {} if self.native is None else {"native": "yes" if self.native else "no"}
        return {**self.attributes, **native}


def check_sittings(sittings: Sequence[Sitting]) -> None:
    """Check that each sheet was entered once, and that no subject saw both halves of a schema.

    Raises:
        DataError: a subject took a test twice, saw a question on two sheets, saw both halves of a
            schema, or gave contradictory answers about themselves. A test counts as taken twice if
            it was entered twice or two subjects have the same code. The message states both
            locations.
    """
    taken: dict[tuple[str, str, str], Sitting] = {}
    schemas: dict[tuple[str, str], tuple[Sitting, int]] = {}
    for sitting in sittings:
        sheet = sitting.sheet
        before = taken.setdefault((sitting.subject, sheet.data, sheet.test), sitting)
        if before is not sitting:
            raise DataError(
                f"{sitting.where or sheet.code}: {sitting.subject!r} already took test "
                f"{sheet.test} ({before.where or before.sheet.code}, sheet {before.sheet.code}); "
                "it was entered twice, or two subjects have the same code: remove one sheet, or "
                "give one subject a different code"
            )
        for item in sheet.items:
            key = sitting.subject, item.schema
            before, number = schemas.setdefault(key, (sitting, item.number))
            if before is sitting:
                continue
            first_id = before.sheet[number].problem_id
            what = f"both halves of a schema ({first_id!r} and {item.problem_id!r})"
            if first_id == item.problem_id:
                what = f"the problem {first_id!r}"
            raise DataError(
                f"{sitting.where or sheet.code}: {sitting.subject!r} saw {what} as question "
                f"{number} of {before.sheet.code} ({before.where or 'entered before'}) and "
                f"question {item.number} of {sheet.code}; the first influences the second, so "
                "remove one sheet"
            )
    declared: dict[tuple[str, str], tuple[str, str]] = {}
    for sitting in sittings:
        for name, value in sitting.self_description.items():
            first, where = declared.setdefault((sitting.subject, name), (value, sitting.where))
            if first != value:
                raise DataError(
                    f"{sitting.where}: {sitting.subject!r} has {name} {value!r}, and {first!r} in "
                    f"{where}; do two subjects have the same code?"
                )


def make_responses(sittings: Iterable[Sitting]) -> tuple[Response, ...]:
    """Convert the answers to responses with the purpose "test", in the order of the sheets.

    The answer X becomes an ambiguous response without a choice. Empty answers produce no response.
    """
    return tuple(
        Response(
            item.problem_id,
            sitting.subject,
            "test",
            item.get_option_index(answer.letter),
            ambiguous=answer.letter == AMBIGUOUS,
            shown=item.shown,
            seconds=answer.seconds,
        )
        for sitting in sittings
        for item in sitting.sheet.items
        if (answer := sitting.answers.get(item.number)) is not None
    )


ANSWERS_VERSION = 1


def read_answer_form(path: str | Path, sheets: Mapping[str, Sheet]) -> Sitting:
    """Read an answers file from a browser form.

    The file `answers-<subject>-<code>.json` has one object:

        winosmith   "answers"
        version     1
        sheet       the code of the sheet: "a-1-7Q2K"
        subject     the code that the subject typed
        started     time when the first question was shown, ISO 8601 in UTC; or null
        ended       time when the file was saved, ISO 8601 in UTC
        seconds     total time with a question on the screen
        answers     object: number of a question, as text → {"letter": "A", "seconds": 12.3};
                    letter is null if nothing was chosen; seconds is the time with the question on
                    the screen
        recognised  list of {"number": 12, "source": "free text"}; number may be null
        words       list of {"number": 12, "word": "free text"}; number may be null
        attributes  object with the subject's answers about themselves, as text: "native" is "yes"
                    or "no"; others depend on the form

    The file has no problem ids; they are in the sheet's JSON file.

    Args:
        path: path of the file.
        sheets: the sheets by their codes.

    Raises:
        FormatError: the file is not an answers file, the sheet is unknown, the subject is missing,
            or an answer is not one of the question's letters.
    """
    path = Path(path)
    record = read_record(path, "an answers file")
    if not isinstance(record, dict) or record.get("winosmith") != "answers":
        raise FormatError("this is not an answers file from a form", path)
    if record.get("version") != ANSWERS_VERSION:
        raise FormatError(
            f"unknown version {record.get('version')!r}; the supported version is "
            f"{ANSWERS_VERSION}",
            path,
        )
    sheet = sheets.get(str(record.get("sheet")))
    if sheet is None:
        raise FormatError(
            f"unknown sheet {record.get('sheet')!r}; the sheets are {', '.join(sorted(sheets))}",
            path,
        )
    try:
        return _make_sitting(record, sheet, path)
    except FormatError:
        raise
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as error:
        raise FormatError(f"the answers can't be read: {error}", path) from error


def _make_sitting(record: Mapping[str, Any], sheet: Sheet, path: Path) -> Sitting:
    subject = normalize_name(str(record.get("subject") or ""))
    if not subject:
        raise FormatError("the answers have no subject", path)
    attributes = {str(k): str(v) for k, v in (record.get("attributes") or {}).items() if v}
    native = attributes.pop("native", None)
    if native not in (None, "yes", "no"):
        raise FormatError(f"native is {native!r}; it must be yes, no or empty", path)
    answers = {}
    for name, given in (record.get("answers") or {}).items():
        if not name.isascii() or not name.isdigit():
            raise FormatError(f"{name!r} is not a question number", path)
        item = sheet[int(name)]
        if given["letter"] is not None:
            item.get_option_index(given["letter"])
            seconds = None if given.get("seconds") is None else float(given["seconds"])
            where = f"{path}, question {name}"
            answers[item.number] = Answer(given["letter"].upper(), seconds, where)
    recognised, words = (
        tuple(SheetRemark(one.get("number"), str(one[text])) for one in record.get(name) or ())
        for name, text in (("recognised", "source"), ("words", "word"))
    )
    return Sitting(
        subject,
        sheet,
        answers,
        record.get("started"),
        record.get("ended"),
        record.get("seconds"),
        recognised,
        words,
        None if native is None else native == "yes",
        attributes,
        str(path),
    )


def make_answers_record(sitting: Sitting) -> dict[str, Any]:
    """Convert a sitting to the record of an answers file; see `read_answer_form`."""
    return {
        "winosmith": "answers",
        "version": ANSWERS_VERSION,
        "sheet": sitting.sheet.code,
        "subject": sitting.subject,
        "started": sitting.started,
        "ended": sitting.ended,
        "seconds": sitting.seconds,
        "answers": {
            str(number): {"letter": given.letter, "seconds": given.seconds}
            for number, given in sorted(sitting.answers.items())
        },
        "recognised": [{"number": n.number, "source": n.text} for n in sitting.recognised],
        "words": [{"number": n.number, "word": n.text} for n in sitting.words],
        "attributes": sitting.self_description,
    }


_MAX_DIGITS = 10


def read_answer_table(path: str | Path, sheets: Mapping[str, Sheet]) -> list[Sitting]:
    """Read answers from a CSV file, a spreadsheet or another tabular file.

    The header determines the layout:

        subject,sheet,number,answer[,seconds]      a row for each answer
        subject,sheet,1,2,3,…                      a row for each subject, a column per question

    The column `sheet` contains the code of the sheet. It may be omitted if there is only one sheet.
    An answer is a letter in upper or lower case, or X. An empty cell means no answer.

    Args:
        path: path of the table.
        sheets: the sheets by their codes.

    Raises:
        FormatError: a column is missing or unknown; a sheet, question or answer is unknown; or a
            subject answered a question twice. The message states the line number.
    """
    rows = data.read(path)
    names = [name.lower() for name in rows.names]
    is_long = {"number", "answer"} <= set(names)
    try:
        _check_columns(names, is_long)
    except DataError as error:
        raise FormatError(str(error), path, 1) from None
    by_sheet: dict[tuple[str, str], tuple[str, dict[int, Answer]]] = {}
    for row in rows:
        where = str(row.place)
        try:
            if row.values is None:
                raise DataError(str(row.reason))
            cells = dict.fromkeys(names, "")  # a JSON object may lack columns, or have others
            for name, value in row.values.items():
                cells[name.lower()] = data.format_cell(value).strip()
            _check_column_names(cells, is_long)
            cells["subject"] = normalize_name(cells["subject"])
            if not cells["subject"]:
                raise DataError("the row has no subject")
            code = cells.get("sheet") or (next(iter(sheets)) if len(sheets) == 1 else "")
            if code not in sheets:
                what = f"unknown sheet {code!r}" if code else "the row has no sheet"
                raise DataError(f"{what}; the sheets are {', '.join(sorted(sheets))}")
            key = cells["subject"], code
            twice = "it was typed twice, or two subjects have the same code"
            if not is_long and key in by_sheet:
                first = f"already has the sheet {code} ({by_sheet[key][0]})"
                raise DataError(f"{key[0]!r} {first}; {twice}")
            _, answers = by_sheet.setdefault(key, (where, {}))
            for number, letter in _read_letters(cells, is_long).items():
                item = sheets[code][number]
                if number in answers and letter:
                    first = f"question {number} of {code} ({answers[number].where})"
                    raise DataError(f"{key[0]!r} already answered {first}; {twice}")
                if letter:
                    item.get_option_index(letter)
                    seconds = _parse_seconds(cells.get("seconds", ""))
                    answers[number] = Answer(letter.upper(), seconds, where)
        except InputError as error:
            raise FormatError(str(error), path, row.place.number, row.place.unit) from None
    if not by_sheet:
        raise FormatError("the table has no answers", path)
    return [
        Sitting(subject, sheets[code], answers, where=where)
        for (subject, code), (where, answers) in by_sheet.items()
    ]


def _check_columns(columns: Sequence[str], is_long: bool) -> None:
    if "subject" not in columns:
        raise DataError(
            "the table needs a column 'subject', and then either 'number' and 'answer', or a "
            "column for each question (1, 2, 3 …)"
        )
    _check_column_names(columns, is_long)
    for name in columns:
        if columns.count(name) > 1:
            raise DataError(f"the column {name!r} occurs twice")
    if not is_long and not any(map(_parse_question_number, columns)):
        raise DataError("the table has no answer column")


def _check_column_names(columns: Iterable[str], is_long: bool) -> None:
    known = {"subject", "sheet", *(("number", "answer", "seconds") if is_long else ())}
    for name in columns:
        if name not in known and (is_long or _parse_question_number(name) is None):
            raise DataError(
                f"unknown column {name!r}; use a row for each answer (subject, sheet, number, "
                "answer, seconds) or a column for each question (subject, sheet, 1, 2, …)"
            )


def _parse_question_number(name: str) -> int | None:
    digits = name.removeprefix("q")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS
    return int(digits) if is_number else None


def _read_letters(cells: Mapping[str, str], is_long: bool) -> dict[int, str]:
    if not is_long:
        numbered = ((_parse_question_number(name), cell) for name, cell in cells.items() if cell)
        return {number: cell for number, cell in numbered if number is not None}
    number = _parse_question_number(cells["number"].lower())
    if number is None:
        raise DataError(f"{cells['number']!r} is not a question number")
    return {number: cells["answer"]}


def _parse_seconds(cell: str) -> float | None:
    try:
        value = float(cell) if cell else None
    except ValueError:
        value = math.nan
    if value is None or 0 <= value < math.inf:
        return value
    raise DataError(f"{cell!r} is not a number of seconds")
