"""Tell a file's format by its content; where none fits, say which is nearest and what it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from winosmith.errors import FormatError
from winosmith.formats._base import Format, Source, Writer
from winosmith.formats._copa import COPA_XML, SUPERGLUE_COPA
from winosmith.formats._csv import CSV
from winosmith.formats._dpr import DPR, DPR_TSV
from winosmith.formats._enclosed import enclosed, is_row, members, of_list, records_in
from winosmith.formats._evograd import EVOGRAD
from winosmith.formats._jsonl import JSONL
from winosmith.formats._knowref import KNOWREF
from winosmith.formats._perturbed import PERTURBED_WSC
from winosmith.formats._questions import QUESTIONS
from winosmith.formats._rows import lacking
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
"""The formats that are known, in the order in which they are named to the user."""


def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises:
        FormatError: there is none; the message lists the names.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    names = ", ".join(sorted(known.name for known in FORMATS))
    raise FormatError(f"there is no format {name!r}; the formats are {names}")


def writer_named(name: str) -> Writer:
    """Return how the format of that name is written.

    Raises:
        FormatError: there is no such format, or it is only read; the message lists the names.
    """
    writer = format_named(name).writer
    if writer is None:
        names = ", ".join(known.name for known in FORMATS if known.writer)
        raise FormatError(f"the format {name!r} is only read; formats that are written: {names}")
    return writer


def detect(source: Source) -> Format:
    """Return the one format whose signs the file's content bears.

    Raises:
        FormatError: none, or more than one, recognises it.
    """
    found = [known for known in FORMATS if known is not QUESTIONS and known.recognises(source)]
    if not found and QUESTIONS.recognises(source):
        return QUESTIONS
    if len(found) == 1:
        return found[0]
    names = ", ".join(known.name for known in (found or FORMATS))
    if found:
        what = "more than one format fits its content"
    else:
        what = f"no known format fits its content{_as_rows(source)}"
    raise FormatError(
        f"{what}; name one with `format_name=` ({names}), or the columns of questions with "
        "`question=`, `choices=` and `answer=`",
        source.path,
        next(source.lines())[0],
    )


def _as_rows(source: Source) -> str:
    """Return what to do with a file whose records no reader finds, or finds nothing in; or ""."""
    if found := _no_lines(source):
        return found
    why, asks = lacking(source)
    near = "" if asks else _nearest(source)
    found = near + (f"; as questions, {why}" if why else "")
    return found or f"; it begins with {next(source.lines())[1][:60]!r}"


_ROWS = "; write one record a line, for example with: jq -c {} FILE > rows.jsonl"


def _no_lines(source: Source) -> str:
    """Return how to make lines of records that stand otherwise."""
    if source.start.startswith(("{'", "[{'")):
        return "; these are Python's dicts, not JSON: write each with json.dumps, one a line"
    if re.match(r"\[\s*\[", source.start):
        return "; its records are lists, not objects: give each of their values a name"
    if not source.start.startswith("{"):
        return ""
    if rows := enclosed(source):
        first = set(next((row for _, _, row, _ in rows.rows if row), {}))
        fits = [known for known in FORMATS if known.name in _JSON_LINES and known.needs <= first]
        told = f"; {rows.where}, and {fits[0].name!r} has one a line" if fits else ""
        return told + _ROWS.format(rows.lines) if fits and rows.lines else told
    held = {name: value for name, (_, value) in members(source).items()}
    if len(names := records_in(held)) > 1:
        told = f"; it is one object, whose {names[0]!r} and others hold records"
        return told + _ROWS.format(of_list(names[0]))
    text = source.text.lstrip()
    try:
        _, end = DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return ""
    alone = text[end:].strip() or is_row(held)
    return _ROWS.format(".") if alone and not source.first_record else ""


_JSON_LINES = frozenset({"winosmith", "winogrande", "superglue-wsc", "superglue-copa"})
_JSON_ARRAY = frozenset({"substitutions", "knowref"})
"""Formats that are JSON Lines, and JSON arrays; others with columns are tables."""


def _nearest(source: Source) -> str:
    """Return which format is nearest and what the file lacks for it; "" when none is near."""
    if source.start.startswith("{"):
        places, there, what = _JSON_LINES, set(source.first_record), "key"
    elif source.start.startswith("["):
        places, there, what = _JSON_ARRAY, set(source.first_element), "key"
    else:
        places = frozenset(f.name for f in FORMATS) - _JSON_LINES - _JSON_ARRAY
        cells = max(source.headers.values(), key=len)
        there, what = {cell.strip() for cell in cells}, "column"
    there = {name for name in there if name}
    near = [known for known in FORMATS if known.name in places and known.needs & there]
    if not near:
        near = [
            known
            for known in FORMATS
            if known.name in places and _casefolded(known.needs) & _casefolded(there)
        ]
    if not near:
        return ""
    best = min(near, key=lambda known: (len(known.needs - there), -len(known.needs)))
    lacks = sorted(best.needs - there)
    alike = {name.casefold(): name for name in sorted(there)}
    told = [f"{name!r} (it has {alike[name]!r})" if name in alike else repr(name) for name in lacks]
    if not lacks:
        return ""
    lacking = f"{what}{'s' * (len(told) > 1)} {', '.join(told)}"
    return f"; the nearest is {best.name!r}, for which it lacks the {lacking}"


def _casefolded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
