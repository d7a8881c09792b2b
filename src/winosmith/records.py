"""Convert problems and claims to JSON objects and back.

These objects are the lines of winosmith's own JSON Lines format, and a data set's digest is
computed from them. Empty fields and defaults are omitted, so that a new field does not change old
digests.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from winosmith.errors import FormatError, ProblemError, RecipeError
from winosmith.problem import ONLY_BLANK, Claim, Edit, Extra, Lineage, Origin, Problem

Record = dict[str, Any]
T = TypeVar("T")

_PROBLEM_KEYS = {f.name for f in fields(Problem)}
_DROPPED_KEYS = {"stage", "reason", "copy_of"}
_CLAIM_KEYS = {f.name for f in fields(Claim)}


def _build_object(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return record


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number; write null")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object, parse_float=_parse_finite, parse_constant=_reject_constant
)
"""A strict JSON decoder (RFC 8259) that rejects repeated keys in an object."""

_INFINITE_DECODER = json.JSONDecoder(object_pairs_hook=_build_object)


def parse_json(text: str | bytes, *, finite: bool = True) -> Any:
    """Parse JSON from text or UTF-8 bytes; only with `finite=False`, accept NaN and Infinity.

    Raises:
        ValueError: the text is not JSON, or contains NaN, Infinity, a number that is too large, an
            object with a repeated key, or brackets nested too deeply.

    >>> parse_json('{"id": "a", "id": "b"}')
    Traceback (most recent call last):
    ValueError: the key 'id' occurs twice in one object
    """
    decoder = DECODER if finite else _INFINITE_DECODER
    try:
        return decoder.decode(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def is_file(path: Path) -> bool:
    """Return whether a path is an existing file. A path that is too long is not.

    >>> is_file(Path(".")), is_file(Path("9" * 4000))
    (False, False)
    """
    try:
        return path.is_file()
    except OSError:
        return False


def read_toml(path: str | Path) -> Record:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise RecipeError(f"{path}: not a TOML file: its brackets are nested too deeply") from None
    except ValueError as error:
        raise RecipeError(f"{path}: not a TOML file: {error}") from None


def read_text(path: str | Path) -> str:
    """Read a UTF-8 text file, without its byte-order mark if it has one.

    Raises:
        FormatError: the file can't be read or is not UTF-8; the error has the line number.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError("the text is not UTF-8; save it as UTF-8 first", path, line) from None


def parse_json_lines(text: str, path: str | Path) -> Iterator[tuple[int, Record]]:
    r"""Yield each JSON Lines object with its 1-based line number, skipping empty lines.

    Raises:
        FormatError: a line is not a JSON object.

    >>> list(parse_json_lines('{"id": "a"}\n\n{"id": "b"}', "x.jsonl"))
    [(1, {'id': 'a'}), (3, {'id': 'b'})]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            raise FormatError(f"the line is not JSON: {error}", path, number) from None
        if not isinstance(record, dict):
            raise FormatError("the line is not a JSON object", path, number)
        yield number, record


def read_json_lines(path: str | Path) -> Iterator[Record]:
    """Yield the objects of a JSON Lines file.

    Raises:
        OSError: the file can't be read.
        FormatError: see `parse_json_lines`.
    """
    yield from (record for _, record in parse_json_lines(Path(path).read_text("utf-8"), path))


def dump_json(record: Any) -> str:
    """Serialise a record as one line of canonical JSON; equal records give identical text.

    >>> dump_json({"id": "a", "options": ["é", "b"]})
    '{"id":"a","options":["é","b"]}'
    """
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def make_problem_record(problem: Problem) -> Record:
    record: Record = {
        "id": problem.id,
        "sentence": problem.sentence,
        "blank": problem.blank,
        "options": list(problem.options),
        "answer": problem.answer,
        "twin_id": problem.twin_id,
        "pronoun": problem.pronoun,
        "origin": _get_non_empty_fields(problem.origin),
        "lineage": _get_non_empty_fields(problem.lineage),
        "embargo": problem.embargo or None,
        "extra": dict(problem.extra) or None,
    }
    if problem.blank_is_unique:
        del record["blank"]
    return {k: value for k, value in record.items() if value is not None or k == "blank"}


def parse_problem(record: Mapping[str, Any]) -> Problem:
    """Parse a problem from a JSON object.

    Raises:
        ProblemError: a key is unknown or missing, or the values do not form a valid problem.

    >>> record = {"id": "1", "sentence": "A _ b.", "options": ["x", "y"], "answer": 1}
    >>> make_problem_record(parse_problem(record)) == record
    True
    """
    more = "; put further values into 'extra'"
    _check_keys(record, _PROBLEM_KEYS, required=("id", "sentence", "options"), advice=more)
    if not isinstance(record["options"], list):
        raise ProblemError(f"the options must be a list, not {record['options']!r}")
    if not isinstance(embargo := record.get("embargo", False), bool):
        raise ProblemError(f"embargo must be true or false, not {embargo!r}")
    problem = Problem(
        id=record["id"],
        sentence=record["sentence"],
        options=tuple(record["options"]),
        answer=record.get("answer"),
        twin_id=record.get("twin_id"),
        pronoun=record.get("pronoun"),
        origin=_construct(Origin, record.get("origin")),
        lineage=_parse_lineage(record.get("lineage")),
        embargo=embargo,
        extra=Extra(record.get("extra")),
        blank=record.get("blank", ONLY_BLANK),
    )
    if record.get("blank", problem.blank) != problem.blank:
        raise ProblemError(
            f"the blank ('_') is at offset {problem.blank}, not at {record['blank']}"
        )
    return problem


def parse_dropped(record: Mapping[str, Any]) -> Problem:
    """Parse a problem from a line of a build's `dropped.jsonl`.

    >>> line = {"id": "a", "sentence": "A _ b.", "options": ["x", "y"], "stage": "votes"}
    >>> parse_dropped(line).id
    'a'
    """
    return parse_problem({k: v for k, v in record.items() if k not in _DROPPED_KEYS})


def make_claim_record(claim: Claim) -> Record:
    record: Record = {f.name: getattr(claim, f.name) for f in fields(Claim)}
    record["extra"] = dict(claim.extra) or None
    return {key: value for key, value in record.items() if value is not None}


def parse_claim(record: Mapping[str, Any]) -> Claim:
    _check_keys(record, _CLAIM_KEYS, required=("problem_id", "sentence", "candidate"))
    return Claim(**{**record, "extra": Extra(record.get("extra"))})


def _check_keys(
    record: Mapping[str, Any], known: set[str], required: tuple[str, ...], advice: str = ""
) -> None:
    for key in required:
        if key not in record:
            raise ProblemError(f"the record has no {key!r}")
    for key in record:
        if key not in known:
            raise ProblemError(f"the record has an unknown key {key!r}{advice}")


def _get_non_empty_fields(instance: Origin | Lineage | Edit | None) -> Record | None:
    if instance is None:
        return None
    record: Record = {f.name: getattr(instance, f.name) for f in fields(instance)}
    if "edits" in record:
        record["edits"] = [_get_non_empty_fields(edit) for edit in record["edits"]]
    return {key: value for key, value in record.items() if value not in (None, "", [])}


def _parse_lineage(record: Any) -> Lineage | None:
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ProblemError(f"the lineage must be an object, not {record!r}")
    edits = record.get("edits", [])
    if not isinstance(edits, list):
        raise ProblemError(f"the edits must be a list, not {edits!r}")
    edits = tuple(_construct(Edit, edit) for edit in edits)
    return _construct(Lineage, {**record, "edits": edits})


def _construct(kind: type[T], record: Any) -> T | None:
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ProblemError(f"{kind.__name__.lower()} must be an object, not {record!r}")
    try:
        return kind(**record)
    except TypeError as error:
        detail = str(error).replace("__init__()", "").strip()
        raise ProblemError(f"{kind.__name__.lower()}: {detail}") from None
