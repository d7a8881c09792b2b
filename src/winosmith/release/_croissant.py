"""croissant.json: the files described for programs, by Croissant 1.0 (Akhtar et al. 2024)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winosmith.release._columns import COLUMNS
from winosmith.release._content import Content

__all__ = ["CONFORMS", "DataFile", "croissant"]

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
    told: dict[str, Any] = {
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
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


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
        "field": [_field(part, name, kind, told) for name, (kind, told) in COLUMNS.items()],
    }


def _field(part: str, name: str, kind: str, told: str) -> dict[str, Any]:
    source = {"fileObject": {"@id": f"data/{part}.parquet"}, "extract": {"column": name}}
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{part}/{name}",
        "name": name,
        "description": told,
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
