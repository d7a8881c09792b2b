"""A release's problems as a table, and croissant.json, which describes the files for programs.

The table has typed columns, and the same bytes for the same problems. The description is that of
Croissant 1.0 (Akhtar et al. 2024).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from winosmith.extras import require
from winosmith.problem import Extra, Problem, Scalar
from winosmith.release._content import Content
from winosmith.release._source import JUDGED_BY, JUDGES, PHASE, REMOVED_BY

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
    encoded = {key.encode(): value.encode() for key, value in sorted(metadata.items())}
    parquet = require("pyarrow.parquet", "release")
    parquet.write_table(
        table.replace_schema_metadata(encoded),
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
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    return table.replace_schema_metadata(None), metadata


def same_columns(table: Any) -> bool:
    """Tell whether a table has the columns of a release, each of its type."""
    return bool(table.schema.equals(_schema()))


CONFORMS = "http://mlcommons.org/croissant/1.0"

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the specification prescribes."""

_TYPES = {"text": "sc:Text", "texts": "sc:Text", "number": "sc:Integer"}
_EDIT = {"op": "sc:Text", "at": "sc:Integer", "old": "sc:Text", "new": "sc:Text"}
_ENCODINGS = {
    "parquet": "application/x-parquet",
    "jsonl": "application/jsonlines",
    "lst": "text/plain",
}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the folder data: its name there, its SHA-256 and how many bytes it has."""

    path: str
    sha256: str
    size: int


def croissant(content: Content, files: Mapping[str, DataFile]) -> str:
    """Return croissant.json.

    Args:
        content: of the release.
        files: those of the folder data, by path.
    """
    about = content.about
    description: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": about.name,
        "alternateName": about.title,
        "description": about.description,
        "version": _semantic(about.version),
        "datePublished": about.date,
        "license": about.licence,
        "inLanguage": list(about.language),
        "creator": [{"@type": "sc:Organization", "name": name} for name in about.authors],
        "citeAs": about.citation or f"{', '.join(about.authors)}: {about.title}, {about.version}",
        "url": about.homepage or f"urn:winosmith:{about.name}",
        "isLiveDataset": False,
        "keywords": ["commonsense", "Winograd schema", content.canary],
        "isAccessibleForFree": True,
        "distribution": [_file(files[path]) for path in sorted(files)],
        "recordSet": [_records(part, content.counts[part]["problems"]) for part in content.parts],
    }
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def _semantic(version: str) -> str:
    """Return MAJOR.MINOR.PATCH, as the specification recommends, of 1.0 too."""
    return f"{version}.0" if version.count(".") == 1 else version


def _file(held: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": held.path,
        "name": held.path.removeprefix("data/"),
        "description": "The same problems as the Parquet file."
        if held.path.endswith(".jsonl")
        else "The answers alone, 1 for the first option."
        if held.path.endswith(".lst")
        else "Problems, one a row.",
        "contentUrl": held.path,
        "contentSize": f"{held.size} B",
        "encodingFormat": _ENCODINGS[held.path.rpartition(".")[2]],
        "sha256": held.sha256,
    }


def _records(part: str, problems: int) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": part,
        "name": part,
        "description": f"{problems} problems.",
        "key": {"@id": f"{part}/id"},
        "field": [_field(part, name, kind, text) for name, (kind, text) in COLUMNS.items()],
    }


def _field(part: str, name: str, kind: str, description: str) -> dict[str, Any]:
    source = {"fileObject": {"@id": f"data/{part}.parquet"}, "extract": {"column": name}}
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{part}/{name}",
        "name": name,
        "description": description,
    }
    if kind == "edits":
        field["repeated"] = True
        field["source"] = source
        field["subField"] = [
            {
                "@type": "cr:Field",
                "@id": f"{part}/{name}/{key}",
                "name": key,
                "dataType": of,
                "source": {**source, "transform": {"jsonPath": key}},
            }
            for key, of in _EDIT.items()
        ]
        return field
    field |= {"dataType": _TYPES[kind], "source": source}
    return {**field, "repeated": True} if kind == "texts" else field
