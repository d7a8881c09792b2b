"""Winosmith's own format: JSON Lines, one problem or claim a line, every field kept.

A field that is empty or has its default is left out; `winosmith.records` has the keys. Problems
that would be taken for twins, though none of the file is a twin's half, have `"twin_id": null`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import IO, Any

from winosmith.formats._base import Entry, Format, Item
from winosmith.formats._json import json_lines
from winosmith.formats._source import Source
from winosmith.formats._twins import would_be_paired
from winosmith.problem import Claim, Problem
from winosmith.records import canonical, claim_of, claim_record, problem_of, problem_record

__all__ = ["JSONL"]


def _recognises(source: Source) -> bool:
    record = source.first_record
    return {"id", "sentence", "options"} <= record.keys() or {
        "problem_id",
        "sentence",
        "candidate",
    } <= record.keys()


def _item(record: Mapping[str, Any], position: int) -> Item:
    return claim_of(record) if "candidate" in record else problem_of(record)


def _is_silent(source: Source) -> bool:
    return not any(f'"{key}"' in source.text for key in ("twin_id", "lineage"))


def _read(source: Source) -> Iterator[Entry]:
    return json_lines(source, _item)


def _write(items: Sequence[Item], file: IO[str]) -> None:
    problems = [item for item in items if isinstance(item, Problem)]
    silent = not any(problem.twin_id or problem.lineage for problem in problems)
    says_no = silent and would_be_paired(problems)
    for item in items:
        record = problem_record(item) if isinstance(item, Problem) else claim_record(item)
        if says_no and isinstance(item, Problem):
            record["twin_id"] = None
        file.write(canonical(record) + "\n")


JSONL = Format(
    name="winosmith",
    title="our own JSON Lines, one record a line, nothing lost",
    recognises=_recognises,
    needs=frozenset({"id", "sentence", "options"}),
    read=_read,
    write=_write,
    holds=Problem | Claim,
    suffix=".jsonl",
    keeps=frozenset(f.name for kind in (Problem, Claim) for f in fields(kind)),
    silent_on_twins=_is_silent,
)
