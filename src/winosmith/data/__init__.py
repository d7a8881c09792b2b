"""Read rows and their locations from files, archives, folders and tables in memory.

>>> rows = read([{"question": "Why?", "answer": "so"}])
>>> [(str(row.place), row.values) for row in rows]
[('<list>, row 1', {'question': 'Why?', 'answer': 'so'})]
"""

from __future__ import annotations

from winosmith.data._bytes import find_files, is_address, stem
from winosmith.data._delimited import Delimited
from winosmith.data._json import (
    Record,
    are_records,
    columns_to_rows,
    get_members,
    read_array,
    read_records_by_id,
)
from winosmith.data._rows import Readable, Rows, join_rows, read
from winosmith.data._source import CONTROLS, Place, Row, Source
from winosmith.data._spans import Value, parse_json_value, parse_row
from winosmith.data._tables import (
    format_cell,
    get_table_name,
    is_missing,
    is_table,
    parse_whole_number,
    read_table,
    to_plain,
)
from winosmith.data._workbook import strip_sheet
from winosmith.data._yaml import is_yaml, parse_yaml_records

__all__ = [
    "CONTROLS",
    "Delimited",
    "Place",
    "Readable",
    "Record",
    "Row",
    "Rows",
    "Source",
    "Value",
    "are_records",
    "columns_to_rows",
    "find_files",
    "format_cell",
    "get_members",
    "get_table_name",
    "is_address",
    "is_missing",
    "is_table",
    "is_yaml",
    "join_rows",
    "parse_json_value",
    "parse_row",
    "parse_whole_number",
    "parse_yaml_records",
    "read",
    "read_array",
    "read_records_by_id",
    "read_table",
    "stem",
    "strip_sheet",
    "to_plain",
]
