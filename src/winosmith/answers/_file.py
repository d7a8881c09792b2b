"""`AnswerFile`, a file of answers with the items to which they belong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winosmith import formats
from winosmith.data import Place, Record, Rows, cell
from winosmith.dataset import Dataset
from winosmith.errors import FormatError

_WHOLE = re.compile(r"([0-9]+)(?:[.,]0+)?")
"""An id that is a whole number, also as tables with gaps store it."""


def _find_number(name: str) -> str:
    """Return the number that an id is, without leading zeros; "" for other ids."""
    whole = _WHOLE.fullmatch(name)
    return whole[1].lstrip("0") or "0" if whole else ""


@dataclass(frozen=True)
class AnswerFile:
    """A file of answers, and the items to which the answers belong.

    Attributes:
        rows: the file's records.
        dataset: the items.
        columns: the columns of question and choices in a log's records, as named by the user.
        filters: names of the filters, scorers or epochs to read.
        omitted: the 0-based positions of records in the data that are not items.
    """

    rows: Rows
    dataset: Dataset
    columns: formats.Columns | None = None
    filters: Collection[str] = ()
    omitted: Collection[int] = ()

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.rows.path

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The file as a single JSON object, which may contain NaN; empty for other files."""
        source = self.rows.source
        if source is None or not source.start.startswith("{"):
            return {}
        try:
            return dict(json.loads(source.text))
        except (ValueError, RecursionError):
            return {}

    def match_id(self, value: Any) -> str:
        """Return the id that a value means: of whole numbers, "7.0" and "007" mean "7"."""
        name = cell(value)
        return self._numbered.get(_find_number(name.strip()), name)

    @cached_property
    def _numbered(self) -> dict[str, str]:
        """The ids that are whole numbers, by number, if no other id is the same number."""
        found = [(number, name) for name in self.dataset.ids if (number := _find_number(name))]
        times = Counter(number for number, _ in found)
        return {number: name for number, name in found if times[number] == 1}

    def records(self) -> list[tuple[Place, Record]]:
        """Return the records with their locations.

        Raises:
            FormatError: a record can't be read.
        """
        found = []
        for row in self.rows:
            if row.values is None:
                raise self.error(str(row.reason), row.place)
            found.append((row.place, row.values))
        return found

    def error(self, reason: str, place: Place | None = None) -> FormatError:
        """Return an error about the file, or about one of its records."""
        return FormatError(reason, *(place[:3] if place else (self.path,)))
