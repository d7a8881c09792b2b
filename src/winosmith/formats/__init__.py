"""Read data sets in every published format, and write five of these formats.

>>> import tempfile, pathlib
>>> from winosmith import Problem, formats
>>> path = pathlib.Path(tempfile.mkdtemp()) / "two.jsonl"
>>> formats.write([Problem("1", "The _ fell.", ("cup", "jug"), 0)], path)
>>> formats.read(path)
<Dataset 'two': 1 problems, 0 twins>
"""

from __future__ import annotations

from winosmith.data import Readable, Source, stem
from winosmith.formats._answers import (
    KINDS,
    find_contradiction,
    interpret_answer,
    locate_letters,
    match_option,
    parse_letter,
    refuse_mixed_scripts,
)
from winosmith.formats._base import Entry, Format, Item, Writer, tidy
from winosmith.formats._choices import PREFIX, parse_choices
from winosmith.formats._columns import AnswerIs, Columns
from winosmith.formats._csv import list_columns, to_table
from winosmith.formats._detect import FORMATS, get_format, get_writer
from winosmith.formats._errata import Erratum, apply_errata, read_errata, write_errata
from winosmith.formats._jsonl import to_frame, to_lines
from winosmith.formats._letters import LETTER_KINDS, SERIES_BY_KIND
from winosmith.formats._names import ID_COLUMNS, find_name, is_answer_name
from winosmith.formats._read import (
    SKIP_BAD,
    Contents,
    ReadingNote,
    as_dataset,
    as_splits,
    describe_columns,
    read,
    read_claims,
    read_items,
    scan,
    to_dataset,
)
from winosmith.formats._twins import find_unmarked_pairs, pair_files
from winosmith.formats._write import Losses, find_losses, find_unwritable, write, write_bad_records

__all__ = [
    "FORMATS",
    "ID_COLUMNS",
    "KINDS",
    "LETTER_KINDS",
    "PREFIX",
    "SERIES_BY_KIND",
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
    "apply_errata",
    "as_dataset",
    "as_splits",
    "describe_columns",
    "find_contradiction",
    "find_losses",
    "find_name",
    "find_unmarked_pairs",
    "find_unwritable",
    "get_format",
    "get_writer",
    "interpret_answer",
    "is_answer_name",
    "list_columns",
    "locate_letters",
    "match_option",
    "pair_files",
    "parse_choices",
    "parse_letter",
    "read",
    "read_claims",
    "read_errata",
    "read_items",
    "refuse_mixed_scripts",
    "scan",
    "stem",
    "tidy",
    "to_dataset",
    "to_frame",
    "to_lines",
    "to_table",
    "write",
    "write_bad_records",
    "write_errata",
]
