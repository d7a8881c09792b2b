"""Answers that the form in a browser, or the entry by keyboard, saved; see `_form_answers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError
from winosmith.humans._answers import Answer, Noted, Sitting
from winosmith.humans._form_answers import ANSWERS_VERSION
from winosmith.humans._sheet import Sheet
from winosmith.records import parsed

__all__ = ["answers_record", "read_answer_form", "sitting_of"]


def read_answer_form(path: str | Path, sheets: Mapping[str, Sheet]) -> Sitting:
    """Read the file that the form in a browser saved.

    Args:
        path: the JSON file.
        sheets: by their codes.

    Raises:
        FormatError: it is no such file, or of an unknown sheet, names no subject, or an answer is
            none of its question's letters; with the question.
    """
    try:
        record = parsed(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FormatError(f"this is not a file of answers: {error}", path) from error
    return sitting_of(record, sheets, path)


def sitting_of(record: Any, sheets: Mapping[str, Sheet], path: str | Path) -> Sitting:
    """Return the sitting of such a file's object; raises as `read_answer_form` does."""
    path = Path(path)
    if isinstance(record, dict) and record.get("winosmith") == "entry":
        raise FormatError(
            f"the entry stopped before question {record.get('next')}; go on with it first", path
        )
    if not isinstance(record, dict) or record.get("winosmith") != "answers":
        raise FormatError("this is not a file of answers from a form", path)
    if record.get("version") != ANSWERS_VERSION:
        raise FormatError(
            f"the answers have version {record.get('version')!r}; {ANSWERS_VERSION} is read", path
        )
    sheet = sheets.get(str(record.get("sheet")))
    if sheet is None:
        raise FormatError(
            f"the sheet {record.get('sheet')!r} is unknown; the sheets are "
            f"{', '.join(sorted(sheets))}",
            path,
        )
    try:
        return _sitting(record, sheet, path)
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the answers can't be read: {error}", path) from error


def _sitting(record: Mapping[str, Any], sheet: Sheet, path: Path) -> Sitting:
    subject = str(record.get("subject") or "").strip()
    if not subject:
        raise FormatError("the answers name no subject", path)
    attributes = {str(k): str(v) for k, v in (record.get("attributes") or {}).items() if v}
    native = attributes.pop("native", None)
    if native not in (None, "yes", "no"):
        raise FormatError(f"native is {native!r}; it is yes, no or empty", path)
    answers = {}
    for name, given in (record.get("answers") or {}).items():
        if not name.isascii() or not name.isdigit():
            raise FormatError(f"{name!r} is not the number of a question", path)
        item = sheet[int(name)]
        if given["letter"] is not None:
            item.option(given["letter"])
            seconds = given.get("seconds")
            answers[item.number] = Answer(
                given["letter"].upper(),
                None if seconds is None else float(seconds),
                f"{path}, question {name}",
            )
    return Sitting(
        subject,
        sheet,
        answers,
        record.get("started"),
        record.get("ended"),
        record.get("seconds"),
        _noted(record.get("recognised"), "source"),
        _noted(record.get("words"), "word"),
        None if native is None else native == "yes",
        attributes,
        str(path),
    )


def _noted(records: Any, name: str) -> tuple[Noted, ...]:
    return tuple(Noted(record.get("number"), str(record[name])) for record in records or ())


def answers_record(sitting: Sitting) -> dict[str, Any]:
    """Return a sitting as the object that the form saves."""
    native = {} if sitting.native is None else {"native": "yes" if sitting.native else "no"}
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
        "attributes": {**sitting.attributes, **native},
    }
