"""A release's problems as a table: typed columns, the same bytes for the same problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from winosmith.extras import require
from winosmith.problem import Extra, Problem, Scalar
from winosmith.release._provenance import JUDGED_BY, JUDGES, PHASE, REMOVED_BY

__all__ = ["COLUMNS", "read_table", "table_of", "write_table"]

COLUMNS: Mapping[str, tuple[str, str]] = {
    "id": ("text", "stays with the problem from release to release"),
    "sentence": ("text", "holds the blank `_` once"),
    "options": ("texts", "what may fill the blank, 2 to 5"),
    "answer": ("number", "the right option, from 0; null where it is withheld"),
    "twin_id": ("text", "shared by the halves of a twin; kept when one half is gone"),
    "pronoun": ("text", "what the blank replaced"),
    "source": ("text", "where it comes from"),
    "author": ("text", "the contributor's pseudonym"),
    "created": ("text", "the day on which it was written, ISO 8601"),
    "domain": ("text", "such as social or physical"),
    "anchor": ("text", "the words of the topic that both halves hold"),
    "licence": ("text", "of this problem"),
    "root": ("text", "the family's root, of a perturbed problem"),
    "parent": ("text", "what was perturbed"),
    "declared": ("number", "the depth that the contributor states"),
    "edits": ("edits", "from the parent: op, at (the token, from 0), old, new"),
    "judges": ("number", "how many people judged it"),
    "judged_by": ("texts", "their pseudonyms"),
    "removed_by": ("text", "the stage that took it out of the debiased set; null when kept"),
    "phase": ("number", "the phase of the filter in which that was"),
    "extra": ("text", "what only the source's format knew, as JSON, and the canary"),
}
"""Each column with its kind and what it says."""

_OUT_OF_EXTRA = (JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
_ORIGIN = ("source", "author", "created", "domain", "anchor", "licence")
_ROWS = 10_000
"""Rows a group: small enough for viewers that load one."""


def _schema() -> Any:
    arrow = require("pyarrow", "release")
    text, number = arrow.string(), arrow.int32()
    edit = arrow.struct([("op", text), ("at", number), ("old", text), ("new", text)])
    kinds = {"text": text, "number": number, "texts": arrow.list_(text), "edits": arrow.list_(edit)}
    return arrow.schema([(name, kinds[kind]) for name, (kind, _) in COLUMNS.items()])


def table_of(problems: Iterable[Problem]) -> Any:
    """Return the problems as a pyarrow table, one row each, in order.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for problem in problems:
        for name, value in _row(problem).items():
            columns[name].append(value)
    return require("pyarrow", "release").Table.from_pydict(columns, schema=_schema())


def _row(problem: Problem) -> dict[str, Any]:
    lineage = problem.lineage
    names = problem.extra.get(JUDGED_BY)
    return {
        "id": problem.id,
        "sentence": problem.sentence,
        "options": list(problem.options),
        "answer": problem.answer,
        "twin_id": problem.twin_id,
        "pronoun": problem.pronoun,
        **{name: getattr(problem.origin, name, None) for name in _ORIGIN},
        "root": lineage and lineage.root,
        "parent": lineage and lineage.parent,
        "declared": lineage and lineage.declared,
        "edits": lineage
        and [{"op": e.op, "at": e.at, "old": e.old, "new": e.new} for e in lineage.edits],
        "judges": problem.extra.get(JUDGES),
        "judged_by": str(names).split(" ") if names is not None else None,
        "removed_by": problem.extra.get(REMOVED_BY),
        "phase": problem.extra.get(PHASE),
        "extra": _rest(problem.extra),
    }


def _rest(extra: Extra) -> str | None:
    rest: dict[str, Scalar] = {k: v for k, v in extra.items() if k not in _OUT_OF_EXTRA}
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":")) if rest else None


def write_table(table: Any, file: IO[bytes], metadata: Mapping[str, str]) -> None:
    """Write a table as Parquet, with texts beside it; no date and no host gets into the bytes."""
    told = {key.encode(): value.encode() for key, value in sorted(metadata.items())}
    parquet = require("pyarrow.parquet", "release")
    parquet.write_table(
        table.replace_schema_metadata(told),
        file,
        compression="zstd",
        row_group_size=_ROWS,
        version="2.6",
    )


def read_table(path: str | Path) -> tuple[Any, dict[str, str]]:
    """Return the table of a Parquet file, without its texts, and the texts.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OSError: it is no Parquet file (pyarrow's own error is one, or a ValueError).
    """
    table = require("pyarrow.parquet", "release").read_table(path)
    told = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    return table.replace_schema_metadata(None), told


def same_columns(table: Any) -> bool:
    """Tell whether a table has the columns of a release, each of its type."""
    return bool(table.schema.equals(_schema()))
