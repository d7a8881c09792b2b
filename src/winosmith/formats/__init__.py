"""Read the published formats and write five of them; one module per format.

>>> import tempfile, pathlib
>>> from winosmith import Problem, formats
>>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
>>> formats.write([Problem("1", "The _ fell.", ("cup", "jug"), 0)], path)
>>> formats.read(path)
<Dataset 'two': 1 problems, 0 twins>
"""

from __future__ import annotations

from winosmith.data import Readable, Source, read_content, stem
from winosmith.formats._answers import letter_of, option_of_text, readings
from winosmith.formats._base import Entry, Format, Item, Writer, tidy
from winosmith.formats._choices import PREFIX
from winosmith.formats._columns import AnswerIs, Columns
from winosmith.formats._detect import FORMATS, format_named, writer_named
from winosmith.formats._errata import Erratum, correct, read_errata, write_errata
from winosmith.formats._jsonl import frame, lines
from winosmith.formats._letters import SERIES
from winosmith.formats._names import is_answer_name
from winosmith.formats._read import (
    SKIP_BAD,
    Contents,
    Losses,
    ReadingNote,
    dataset_of,
    find_unwritable,
    losses,
    problems_of,
    read,
    read_claims,
    read_items,
    scan,
    set_aside,
    splits_of,
    write,
)
from winosmith.formats._twins import find_unmarked_pairs, pair_files

__all__ = [
    "FORMATS",
    "PREFIX",
    "SERIES",
    "SKIP_BAD",
    "AnswerIs",
    "Columns",
    "Contents",
    "Entry",
    "Erratum",
    "Format",
    "Item",
    "Losses",
    "Readable",
    "ReadingNote",
    "Source",
    "Writer",
    "correct",
    "dataset_of",
    "find_unmarked_pairs",
    "find_unwritable",
    "format_named",
    "frame",
    "is_answer_name",
    "letter_of",
    "lines",
    "losses",
    "option_of_text",
    "pair_files",
    "problems_of",
    "read",
    "read_claims",
    "read_content",
    "read_errata",
    "read_items",
    "readings",
    "scan",
    "set_aside",
    "splits_of",
    "stem",
    "tidy",
    "write",
    "write_errata",
    "writer_named",
]
