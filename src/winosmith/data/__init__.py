"""Read rows and their locations from files, archives, folders and tables in memory.

>>> rows = read([{"question": "Why?", "answer": "so"}])
>>> [(str(row.place), row.values) for row in rows]
[('<list>, row 1', {'question': 'Why?', 'answer': 'so'})]
"""

from __future__ import annotations

from winosmith.data._bytes import data_files, is_address, read_content, stem
from winosmith.data._delimited import Delimited
from winosmith.data._json import (
    Record,
    are_records,
    array_records,
    column_records,
    columns_to_rows,
    id_records,
    members,
)
from winosmith.data._place import Place, Row
from winosmith.data._rows import Kind, Readable, Rows, join_rows, read
from winosmith.data._source import CONTROLS, Source
from winosmith.data._spans import Value, parse_json_value, parse_row
from winosmith.data._tables import cell, is_missing, is_table, parse_whole, table_name
from winosmith.data._workbook import strip_sheet
from winosmith.data._yaml import is_yaml, yaml_records

__all__ = [
    "CONTROLS",
    "Delimited",
    "Kind",
    "Place",
    "Readable",
    "Record",
    "Row",
    "Rows",
    "Source",
    "Value",
    "are_records",
    "array_records",
    "cell",
    "column_records",
    "columns_to_rows",
    "data_files",
    "id_records",
    "is_address",
    "is_missing",
    "is_table",
    "is_yaml",
    "join_rows",
    "members",
    "parse_json_value",
    "parse_row",
    "parse_whole",
    "read",
    "read_content",
    "stem",
    "strip_sheet",
    "table_name",
    "yaml_records",
]
