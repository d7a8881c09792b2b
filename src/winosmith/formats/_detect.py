"""Detect a file's format from its content, or suggest the nearest format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from winosmith.data import Rows, join_rows
from winosmith.errors import AdvisedText, FormatError
from winosmith.formats._base import Format, Writer
from winosmith.formats._copa import COPA_XML, SUPERGLUE_COPA
from winosmith.formats._csv import CSV
from winosmith.formats._dpr import DPR, DPR_TSV
from winosmith.formats._enclosed import find_record_lists, iterate_row_candidates
from winosmith.formats._evograd import EVOGRAD
from winosmith.formats._jsonl import JSONL
from winosmith.formats._knowref import KNOWREF
from winosmith.formats._names import ID_COLUMNS, find_name
from winosmith.formats._perturbed import PERTURBED_WSC
from winosmith.formats._questions import QUESTIONS
from winosmith.formats._rows import explain_mismatch, get_question_rows
from winosmith.formats._substitutions import SUBSTITUTIONS
from winosmith.formats._superglue_wsc import SUPERGLUE_WSC
from winosmith.formats._winogender import WINOGENDER, WINOGENDER_TEMPLATES
from winosmith.formats._winogrande import PERTURBED_JSONL, WINOGRANDE, WSC273_JSONL
from winosmith.formats._wsc import PDP_XML, WSC_CSV, WSC_XML
from winosmith.records import DECODER

FORMATS: tuple[Format, ...] = (
    JSONL,
    CSV,
    WINOGRANDE,
    WSC_XML,
    WSC_CSV,
    WSC273_JSONL,
    SUBSTITUTIONS,
    PDP_XML,
    SUPERGLUE_WSC,
    SUPERGLUE_COPA,
    COPA_XML,
    DPR,
    DPR_TSV,
    KNOWREF,
    WINOGENDER,
    WINOGENDER_TEMPLATES,
    PERTURBED_WSC,
    PERTURBED_JSONL,
    EVOGRAD,
    QUESTIONS,
)
"""All formats, in the order in which messages list them."""


def get_format(name: str) -> Format:
    """Return the format with the given name.

    Raises:
        FormatError: no format has this name; the message lists the names.
    """
    known = {one.name: one for one in FORMATS}
    if name not in known:
        names = ", ".join(sorted(known))
        raise FormatError(f"there is no format {name!r}; the formats are {names}")
    return known[name]


def get_writer(name: str) -> Writer:
    """Return the writer of the format with the given name.

    Raises:
        FormatError: no format has this name, or the format is read-only.
    """
    writer = get_format(name).writer
    if writer is None:
        names = ", ".join(known.name for known in FORMATS if known.writer)
        raise FormatError(f"the format {name!r} is read-only; formats that can be written: {names}")
    return writer


class DetectedFormat(NamedTuple):
    """A detected format, its rows, and notes on assumptions about the location of the rows."""

    format: Format
    rows: Rows
    notes: list[str]


def detect(rows: Rows, name: str | None = None) -> DetectedFormat:
    """Detect the format of rows. All containers must have the same format.

    Raises:
        FormatError: no format has this name, none or several formats match, or the containers have
            different formats.
    """
    known = get_format(name) if name else None
    parts = [_detect_container(part, known) for part in rows.parts or (rows,)]
    first = parts[0]
    if other := next((part for part in parts if part.format is not first.format), None):
        raise FormatError(
            f"{first.rows.path} is in the format {first.format.name!r}, but {other.rows.path} "
            f"is in {other.format.name!r}: use files of the same format",
            rows.path,
        )
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    return DetectedFormat(first.format, join_rows([part.rows for part in parts], rows.path), notes)


def _detect_container(rows: Rows, wanted: Format | None) -> DetectedFormat:
    if wanted is not QUESTIONS:
        formats = [wanted] if wanted else [known for known in FORMATS if known is not QUESTIONS]
        readings = [
            [DetectedFormat(known, read, notes) for known in formats if known.recognises(read)]
            for read, notes in iterate_row_candidates(rows)
        ]
        matches = next(filter(None, readings), [])
        in_lists = [one for one in readings if one and one[0].notes and one[0].rows.kind == "array"]
        if len(in_lists) > 1 and matches is in_lists[0]:
            matches = []  # several of an object's lists match
        if len(matches) == 1:
            return matches[0]
        if wanted:
            return DetectedFormat(wanted, rows, [])
        if matches:
            advice = _advise_naming([one.format.name for one in matches])
            reason = AdvisedText("several formats fit its content", "format_name", advice)
            raise _make_detection_error(reason, rows)
    if wanted or QUESTIONS.recognises(rows):
        return DetectedFormat(QUESTIONS, *get_question_rows(rows))
    raise _make_detection_error(_explain_no_match(rows), rows)


def _advise_naming(names: Iterable[str]) -> str:
    columns = "or the question columns with `question=`, `choices=` and `answer=`"
    return f"; name one with `format_name=` ({', '.join(names)}), {columns}"


def _make_detection_error(reason: str, rows: Rows) -> FormatError:
    line = next(rows.source.iterate_lines())[0] if rows.source else None
    error = FormatError(reason, rows.path, line)
    error.add_note(
        "In Python, name columns with winosmith.formats.read(data, columns="
        "winosmith.formats.Columns(question=(…,), choices=(…, …), answer=…))"
    )
    return error


def _explain_no_match(rows: Rows) -> AdvisedText:
    fault, naming = "no known format fits its content", _advise_naming(one.name for one in FORMATS)
    if advice := _advise_on_values(rows):
        return AdvisedText(fault + advice, "format_name", naming)
    why, has_questions = explain_mismatch(rows)
    if has_questions:
        another = "; name another format with `format_name=`"
        return AdvisedText(fault, "format_name", another, before=f"{why}; ")
    nearest = _describe_nearest_format(rows)
    if not nearest and (name := find_name((*ID_COLUMNS, "item"), rows.names)):
        cells = [str(one).strip() for key, one in rows.first.items() if key != name]
        if 1 in map(len, cells) and not any(" " in one for one in cells):  # letters or digits
            nearest = (
                "; it looks like models' answers, not problems: name the file of problems as the "
                "data, and this one as the answers"
            )
            return AdvisedText(fault + nearest, "format_name")
    if not (nearest or why):
        nearest = f"; it begins with {rows.start.partition(chr(10))[0][:60]!r}"
    questions = f"; as questions, {why}" if why else ""
    return AdvisedText(fault + nearest, "format_name", questions + naming)


_ROWS_ADVICE = "; write one record per line, for example with: jq -c {} FILE > rows.jsonl"


def _advise_on_values(rows: Rows) -> str:
    if rows.start.startswith(("{'", "[{'")):
        return "; these are Python dicts, not JSON: write each on its own line with json.dumps"
    if re.match(r"\[\s*\[", rows.start):
        return "; its records are lists, not objects: give each value a name"
    if rows.kind == "object" and len(names := find_record_lists(rows.first)) > 1:
        lists = " and ".join(map(repr, names[:3])) + (", …" if names[3:] else "")
        advice = f"; it is one object with several lists of records, {lists}"
        return advice + _ROWS_ADVICE.format(f"'.[{json.dumps(names[0])}][]'")
    if rows.kind != "lines" or rows.names or rows.source is None:
        return ""
    try:
        DECODER.raw_decode(rows.source.text.lstrip())
    except (ValueError, RecursionError):
        return ""
    return _ROWS_ADVICE.format(".")


def _describe_nearest_format(rows: Rows) -> str:
    present = {name for name in rows.names if name}
    lower = {name.casefold(): name for name in sorted(present)}
    of_texts = "csv" if rows.is_typed else "winogrande"  # both need the same names
    usable = [known for known in FORMATS if known.needs and known.name != of_texts]
    similar = [one for one in usable if 2 * len(one.needs & present) >= len(one.needs)] or [
        one for one in usable if 2 * sum(n.casefold() in lower for n in one.needs) >= len(one.needs)
    ]
    best = min(similar, key=lambda one: (len(one.needs - present), -len(one.needs)), default=None)
    missing = sorted(best.needs - present) if best else []
    if not best or not missing:
        return ""
    names = [repr(n) + (f" (there is {lower[n]!r})" if n in lower else "") for n in missing]
    noun = "key" if rows.is_typed else "column"
    lacking = f"{noun}{'s' * (len(names) > 1)} {', '.join(names)}"
    return f"; the nearest is {best.name!r}, but the file lacks the {lacking}"
