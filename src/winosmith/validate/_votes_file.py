"""Files of responses: a table that people can edit (CSV), and JSON Lines.

The CSV has a header; the columns may stand in any order:

==============  ===========================================================================
`problem_id`    the problem that was asked; needed
`participant`   the person's pseudonym; needed
`choice`        the chosen option's number, **from 1**, as in `option1`; empty for none; needed
`purpose`       `validate` (the default), `local` or `test`
`ambiguous`     1 when the person finds both options plausible, else 0 or empty
`associative`   1 when the person finds that nearby words give the answer away, else 0 or empty
`shown`         the options' numbers in the order in which they were shown ("2 1"), or empty
`seconds`       how long it took, or empty
==============  ===========================================================================

In JSON Lines each line is an object with the fields of `winosmith.Response`, so there `choice` and
`shown` count **from 0**, as `answer` does in our problems.

A text that a spreadsheet would take for a formula is written with an apostrophe before it, which
is taken off again when the file is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winosmith.answers import Response
from winosmith.errors import FormatError, ProblemError
from winosmith.outputs import write_aside
from winosmith.records import json_lines
from winosmith.validate._votes_csv import check_names, csv_records, write_csv

__all__ = ["read_votes", "write_votes"]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_IS: Mapping[str, Callable[[Any], bool]] = {
    "problem_id": _is_text,
    "participant": _is_text,
    "purpose": _is_text,
    "choice": lambda value: value is None or _is_index(value),
    "ambiguous": _is_flag,
    "associative": _is_flag,
    "shown": lambda value: isinstance(value, list) and all(map(_is_index, value)),
    "seconds": lambda value: value is None or isinstance(value, float) or _is_index(value),
}
"""What the value of each key may be in JSON Lines."""


def read_votes(path: str | Path) -> tuple[Response, ...]:
    """Read responses from CSV or JSON Lines, told apart by the first character.

    Raises:
        FormatError: the file is empty or not UTF-8, a column is missing or unknown, or a response
            can't be read; with the line.
    """
    text = _text(path)
    records = _json_records(text, path) if text.lstrip()[0] in "{[" else csv_records(text, path)
    responses = []
    for line, record in records:
        try:
            responses.append(Response(**record))
        except ProblemError as error:
            raise FormatError(str(error), path, line) from None
    return tuple(responses)


def write_votes(responses: Iterable[Response], path: str | Path) -> None:
    """Write responses as JSON Lines when the path ends in `.jsonl`, else as CSV.

    Raises:
        OutputError: the file can't be written.
    """
    with write_aside(path) as file:
        if Path(path).suffix == ".jsonl":
            file.writelines(json.dumps(_filled(r), ensure_ascii=False) + "\n" for r in responses)
        else:
            write_csv(responses, file)


def _text(path: str | Path) -> str:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError("the text is not UTF-8; save it as UTF-8 first", path, line) from None
    if not text.strip():
        raise FormatError("the file is empty", path)
    return text


def _json_records(text: str, path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, record in json_lines(text, path):
        check_names(record, ("problem_id", "participant", "purpose"), path, number)
        for name, value in record.items():
            if not _IS[name](value):
                raise FormatError(f"{name} can't be {json.dumps(value)}", path, number)
        yield number, {**record, "shown": tuple(record.get("shown", ()))}


def _filled(response: Response) -> dict[str, Any]:
    record = asdict(response)
    return {k: v for k, v in record.items() if v is not None and v is not False and v != ()}
