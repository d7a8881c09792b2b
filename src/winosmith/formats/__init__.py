"""Read the published formats and write five of them; one module per format.

>>> import tempfile, pathlib
>>> from winosmith import Problem, formats
>>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
>>> formats.write([Problem("1", "The _ fell.", ("cup", "jug"), 0)], path)
>>> formats.read(path)
<Dataset 'two': 1 problems, 0 twins>
"""

from __future__ import annotations

from winosmith.data import Readable, Source, content, stem
from winosmith.formats._answers import letter_of, option_of_text, readings
from winosmith.formats._base import Entry, Format, Item, Writer, tidy
from winosmith.formats._choices import PREFIX
from winosmith.formats._columns import AnswerIs, Columns
from winosmith.formats._detect import FORMATS, format_named, writer_named
from winosmith.formats._jsonl import frame, lines
from winosmith.formats._letters import SERIES
from winosmith.formats._names import of_answers
from winosmith.formats._read import (
    SKIP_BAD,
    Contents,
    Losses,
    ReadingNote,
    dataset_of,
    losses,
    problems_of,
    read,
    read_claims,
    read_items,
    scan,
    set_aside,
    splits_of,
    unfit,
    write,
)
from winosmith.formats._twins import alike, paired_by, refuse_unread_pairs

__all__ = [
    "FORMATS",
    "PREFIX",
    "SERIES",
    "SKIP_BAD",
    "AnswerIs",
    "Columns",
    "Contents",
    "Entry",
    "Format",
    "Item",
    "Losses",
    "Readable",
    "ReadingNote",
    "Source",
    "Writer",
    "alike",
    "content",
    "dataset_of",
    "format_named",
    "frame",
    "letter_of",
    "lines",
    "losses",
    "of_answers",
    "option_of_text",
    "paired_by",
    "problems_of",
    "read",
    "read_claims",
    "read_items",
    "readings",
    "refuse_unread_pairs",
    "scan",
    "set_aside",
    "splits_of",
    "stem",
    "tidy",
    "unfit",
    "write",
    "writer_named",
]
