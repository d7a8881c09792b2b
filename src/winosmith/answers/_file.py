"""`AnswerFile`, a file of answers with the items to which they belong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from winosmith import formats
from winosmith.answers._items import normalise, number_repeats
from winosmith.data import Place, Record, Row, Rows, format_cell, is_missing, parse_whole_number
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.text import normalize


def normalise_id(name: str) -> str:
    """Return an id in NFC and lower case, and a number also without leading and decimal zeros."""
    plain = normalise(normalize(name))
    whole = parse_whole_number(plain)
    return whole.lstrip("0") or "0" if whole else plain


def accept_infinity(rows: Rows) -> Rows:
    """Also read rows with NaN or Infinity, which harnesses write for log-likelihoods."""

    def read_rows() -> Iterator[Row[Any]]:
        for row in rows.read():
            if row.values is None and (values := _parse_infinite(row.raw)) is not None:
                row = row._replace(values=values, reason=None)
            yield row

    return replace(rows, read=read_rows, parts=tuple(map(accept_infinity, rows.parts)))


def _parse_infinite(text: str) -> Record | None:
    """Parse an object that is JSON but for NaN or Infinity; return None for any other text."""
    try:
        parse_json(text)
    except ValueError:
        with suppress(ValueError):
            values = parse_json(text, finite=False)
            return values if isinstance(values, dict) else None
    return None


def _map_unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    spelled = list(pairs)
    times = Counter(spelling for spelling, _ in spelled)
    return {spelling: name for spelling, name in spelled if times[spelling] == 1}


@dataclass(frozen=True)
class AnswerFile:
    """A file of answers, and the items to which the answers belong.

    Attributes:
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
        return self.rows.path

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The file as a single JSON object, which may contain NaN, or {} for other files."""
        source = self.rows.source
        if source is None or not source.start.startswith("{"):
            return {}
        try:
            return dict(parse_json(source.text, finite=False))
        except ValueError:
            return {}

    @cached_property
    def problems(self) -> dict[str, Problem]:
        return {problem.id: problem for problem in self.dataset}

    @cached_property
    def keys(self) -> dict[str, int]:
        """The key of each item that has one."""
        return {one.id: one.answer for one in self.dataset if one.answer is not None}

    def resolve_id(self, name_or_text: Any) -> str:
        """Return the item id for an id such as "7.0" or "007", or for the item's sentence."""
        name = format_cell(name_or_text)
        plain = normalise_id(name)
        return self._ids.get(plain) or self._ids_by_sentence.get(plain, name)

    def find_other_question(self, texts: Iterable[str], item: str) -> str | None:
        """Return the id of another item with one of the texts, unless one is the item's own."""
        found = {self._ids_by_sentence.get(normalise_id(text)) for text in texts} - {None}
        return None if item in found else next(iter(found), None)

    @cached_property
    def _ids(self) -> dict[str, str]:
        """The original id for each normalised id, if only one id has this form."""
        return _map_unique((normalise_id(name), name) for name in self.dataset.ids)

    @cached_property
    def _ids_by_sentence(self) -> dict[str, str]:
        """The id for each unique sentence, which only files without ids need."""
        return _map_unique((normalise_id(one.sentence), one.id) for one in self.dataset)

    def interpret_labels(self, labels: Mapping[str, Any]) -> dict[str, dict[str, int]]:
        """Return the options that each label could name, by kind of label, for each item id.

        Missing labels are omitted from the result. Labels of unknown ids, and values other than
        text or numbers, name no option.
        """
        readings: dict[str, dict[str, int]] = {}
        for name, label in labels.items():
            options = number_repeats(self.problems[name].options if name in self.problems else ())
            if is_missing(label) and label not in options:
                continue
            is_scalar = not isinstance(label, dict | list)
            text = str(label) if isinstance(label, bool) else label
            readings[name] = formats.interpret_answer(text, options) if is_scalar else {}
        return readings

    def read_records(self) -> list[tuple[Place, Record]]:
        found = []
        for row in self.rows:
            if row.values is None:
                raise row.place.make_error(str(row.reason))
            found.append((row.place, row.values))
        return found

    def make_error(self, reason: str, place: Place | None = None) -> FormatError:
        return place.make_error(reason) if place else FormatError(reason, self.path)
