"""Read the published formats, and write five of them; one file each.

>>> import tempfile, pathlib
>>> from winosmith import Problem, formats
>>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
>>> formats.write([Problem("1", "The _ fell.", ("cup", "jug"), 0)], path)
>>> formats.read(path)
<Dataset 'two': 1 problems, 0 twins>
"""

from __future__ import annotations

from winosmith.data import Source, content, stem
from winosmith.formats._base import Entry, Format, Item, Writer
from winosmith.formats._columns import AnswerIs, Columns, of_answers
from winosmith.formats._detect import FORMATS, detect, format_named, writer_named
from winosmith.formats._jsonl import frame, lines
from winosmith.formats._predictions import (
    Predictions,
    option_at,
    prediction_header,
    prediction_record,
    read_predictions,
    write_predictions,
)
from winosmith.formats._read import (
    Contents,
    Losses,
    ReadingNote,
    losses,
    read,
    read_claims,
    read_items,
    read_noted,
    scan,
    set_aside,
    unfit,
    write,
)
from winosmith.formats._twins import alike, paired_by, refuse_unread_pairs
from winosmith.formats._winogrande import read_labels, read_submission, write_labels

__all__ = [
    "FORMATS",
    "AnswerIs",
    "Columns",
    "Contents",
    "Entry",
    "Format",
    "Item",
    "Losses",
    "Predictions",
    "ReadingNote",
    "Source",
    "Writer",
    "alike",
    "content",
    "detect",
    "format_named",
    "frame",
    "lines",
    "losses",
    "of_answers",
    "option_at",
    "paired_by",
    "prediction_header",
    "prediction_record",
    "read",
    "read_claims",
    "read_items",
    "read_labels",
    "read_noted",
    "read_predictions",
    "read_submission",
    "refuse_unread_pairs",
    "scan",
    "set_aside",
    "stem",
    "unfit",
    "write",
    "write_labels",
    "write_predictions",
    "writer_named",
]
