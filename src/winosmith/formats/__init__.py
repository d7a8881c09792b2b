"""Read and write the published formats; one file each.

>>> import tempfile, pathlib
>>> from winosmith import Problem, formats
>>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
>>> formats.write([Problem("1", "The _ fell.", ("cup", "jug"), 0)], path)
>>> formats.read(path)
<Dataset 'two': 1 problems, 0 twins>
"""

from __future__ import annotations

from winosmith.formats._base import Entry, Format, Source
from winosmith.formats._known import FORMATS
from winosmith.formats._read import (
    detect,
    format_named,
    read,
    read_claims,
    read_items,
    write,
)
from winosmith.formats._winogrande import read_labels, read_submission, write_labels

__all__ = [
    "FORMATS",
    "Entry",
    "Format",
    "Source",
    "detect",
    "format_named",
    "read",
    "read_claims",
    "read_items",
    "read_labels",
    "read_submission",
    "write",
    "write_labels",
]
