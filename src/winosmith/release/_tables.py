"""The Parquet files of a release: typed columns, and the same bytes for the same problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

from winosmith.errors import require
from winosmith.problem import Origin, Problem

JUDGES, JUDGED_BY = "release.judges", "release.judged_by"
REMOVED_BY, PHASE = "release.removed_by", "release.phase"
OWN_KEYS = (JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
"""The keys of `extra` that a release adds, and that have columns of their own."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    "id": ("text", "the same from release to release"),
    "sentence": ("text", "contains the blank `_` once"),
    "options": ("texts", "2 to 5 texts for the blank"),
    "answer": ("number", "the correct option, from 0; null if it is withheld"),
    "twin_id": ("text", "shared by the halves of a twin; kept if one half is removed"),
    "pronoun": ("text", "the pronoun that the blank replaces"),
    "source": ("text", "the source"),
    "author": ("text", "the contributor's pseudonym"),
    "created": ("text", "the day of writing, ISO 8601"),
    "domain": ("text", "such as social or physical"),
    "anchor": ("text", "the words of the topic that both halves contain"),
    "licence": ("text", "the licence of this problem"),
    "root": ("text", "the family's root, of a perturbed problem"),
    "parent": ("text", "the problem that was perturbed"),
    "declared": ("number", "the depth that the contributor states"),
    "edits": ("edits", "from the parent: op, at (the token, from 0), old, new"),
    "judges": ("number", "the number of people who judged it"),
    "judged_by": ("texts", "the judges' pseudonyms"),
    "removed_by": ("text", "the stage that removed it from the debiased set; null if kept"),
    "phase": ("number", "the phase of the filter that removed it"),
    "extra": ("text", "other fields of the source's format, as JSON, and the canary"),
}
"""The kind and meaning of each column."""

QUESTION_COLUMNS: Mapping[str, tuple[str, str]] = {
    "sentence": ("text", "contains the blank once, or is a question without a blank"),
    "options": ("texts", "2 to 26 texts for the blank, or answers to the question"),
    "extra": (
        "text",
        "other fields of the source's format, as JSON; `blank`, if it is not the only `_` (null: "
        "a question); and the canary",
    ),
}
"""The same if some problems aren't sentences with one `_` and at most five options."""

_ROWS = 10_000
"""Rows of a row group: small enough for viewers that load one."""


def table_of(problems: Iterable[Problem]) -> Any:
    """Return the problems as a pyarrow table, one row each, in order.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow = require("pyarrow", "release")
    text, number = arrow.string(), arrow.int32()
    edit = arrow.struct([("op", text), ("at", number), ("old", text), ("new", text)])
    kinds = {"text": text, "number": number, "texts": arrow.list_(text), "edits": arrow.list_(edit)}
    schema = arrow.schema([(name, kinds[kind]) for name, (kind, _) in COLUMNS.items()])
    return arrow.Table.from_pylist([_row(problem) for problem in problems], schema=schema)


def _row(problem: Problem) -> dict[str, Any]:
    extra: dict[str, Any] = dict(problem.extra)
    row = {name.removeprefix("release."): extra.pop(name, None) for name in OWN_KEYS}
    if row["judged_by"] is not None:
        row["judged_by"] = str(row["judged_by"]).split(" ")
    if not problem.blank_is_plain:
        extra["blank"] = problem.blank
    return {
        "id": problem.id,
        "sentence": problem.sentence,
        "options": problem.options,
        "answer": problem.answer,
        "twin_id": problem.twin_id,
        "pronoun": problem.pronoun,
        **asdict(problem.origin or Origin()),
        **(asdict(problem.lineage) if problem.lineage else {}),
        **row,
        "extra": json.dumps(extra, ensure_ascii=False, separators=(",", ":")) if extra else None,
    }


def parquet(table: Any, metadata: Mapping[str, str]) -> bytes:
    """Return the bytes of a Parquet file with texts as metadata, and without date and host."""
    encoded = {key.encode(): value.encode() for key, value in sorted(metadata.items())}
    file = BytesIO()
    require("pyarrow.parquet", "release").write_table(
        table.replace_schema_metadata(encoded),
        file,
        compression="zstd",
        row_group_size=_ROWS,
        version="2.6",
    )
    return file.getvalue()


def read_table(path: str | Path) -> Any:
    """Return the table of a Parquet file, without its metadata.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OSError: it is not a Parquet file (pyarrow's own error is one, or a ValueError).
    """
    table = require("pyarrow.parquet", "release").read_table(path)
    return table.replace_schema_metadata(None)
