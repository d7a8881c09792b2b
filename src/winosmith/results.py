"""Base class of results: frozen dataclasses that render as JSON, tables and text.

Fields state their headings and formats with `shown`. Properties that are part of the result are
marked with `computed`. The JSON record, the repr, the view in a notebook, the DataFrame, the
paragraph for a paper, and the tables of commands and pages are generated from these.

>>> from dataclasses import dataclass, field
>>> @dataclass(frozen=True)
... class Fit(Result):
...     error: float = field(metadata=shown("residual", ".2f"))
...     sizes: tuple[int, ...] = field(metadata=shown("sizes", len))
...     seed: int = field(metadata=HIDDEN)
...
...     @property
...     @computed(**shown("squared", ".3f"))
...     def squared(self) -> float:
...         return self.error**2
>>> found = Fit(0.5, (160, 640), 0)
>>> found
Fit(squared=0.25, error=0.5, sizes=(160, 640))
>>> found.record()
{'squared': 0.25, 'error': 0.5, 'sizes': [160, 640]}
>>> found.summary().partition(" (")[0]
'Fit: squared 0.250; residual 0.50; sizes 2. Computed with winosmith 0.1.0'
>>> made = make_table("Fits", {"line": found}, head="form")
>>> [head.title for head in made.headings], made.rows
(['form', 'squared', 'residual', 'sizes'], [['line', 0.25, 0.5, 2]])
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from winosmith import report
from winosmith._version import __version__
from winosmith.errors import InputError, require

Form = str | Callable[[Any], report.Value]
"""A format specification, or a function that converts a value to a table cell."""

Json = bool | str | Callable[[Any], Any]
"""How the record includes a value: True (unchanged), False (not at all), "if any" (unless it is
None, empty or zero), "flat" (its keys become the record's), or a function that converts it."""

CITATION = (
    f"Computed with winosmith {__version__} (The winosmith maintainers, winosmith: build, filter "
    "and measure Winograd-style benchmarks)."
)
"""Last sentence of each paragraph for a paper, with the version and the citation."""

MAX_REPR = 200
"""Maximum length of a repr, in characters."""

_T = typing.TypeVar("_T")


@dataclass(frozen=True)
class Member:
    """A field or computed property of a result, with its headings and formats.

    Attributes:
        columns: heading and format of each table cell; empty if tables omit the member by default.
        json: see `Json`.
        key: key in the record; by default the name.
        rows: whether its elements become the rows of the result's DataFrame.
    """

    name: str
    columns: tuple[tuple[str, Form], ...] = ()
    json: Json = True
    key: str = ""
    rows: bool = False

    def make_columns(self, *, numeric: bool = False) -> list[report.Column]:
        columns = self.columns or ((self.name.replace("_", " "), ""),)
        return [
            report.Column(title, "" if callable(form) else form, numeric) for title, form in columns
        ]

    def format_cells(self, value: Any) -> list[report.Value]:
        forms = [form for _, form in self.columns] or [""]
        return [
            None if value is None else form(value) if callable(form) else _to_cell(value)
            for form in forms
        ]


def shown(
    title: str, form: Form = "", *more: tuple[str, Form], json: Json = True
) -> dict[str, Any]:
    """Return the metadata of a field with a heading and a format; each of `more` adds a column."""
    return {"columns": ((title, form), *more), "json": json}


HIDDEN = {"json": False}
"""Metadata of a field that records and tables omit."""

IF_ANY = {"json": "if any"}
"""Metadata of a field that the record omits if it is None, empty or zero."""


def computed(**metadata: Any) -> Callable[[_T], _T]:
    """Mark a property or cached property as part of the result."""

    def attach_metadata(getter: _T) -> _T:
        getter.metadata = metadata  # type: ignore[attr-defined]
        return getter

    return attach_metadata


def list_members(kind: Any) -> tuple[Member, ...]:
    """List the computed properties and the fields of a dataclass, in this order."""
    properties = [
        Member(name, **vars(of)["metadata"])
        for base in reversed(kind.__mro__)
        for name, found in vars(base).items()
        if hasattr(of := getattr(found, "fget", getattr(found, "func", None)), "metadata")
    ]
    return (*properties, *(Member(one.name, **one.metadata) for one in fields(kind)))


class Result:
    """Base class of results; see the module's docstring."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Prevent `dataclass` from generating a repr with all fields."""
        super().__init_subclass__()
        if "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def record(self) -> dict[str, Any]:
        """Convert the result to a JSON object."""
        record: dict[str, Any] = {}
        for one in list_members(type(self)):
            value = getattr(self, one.name)
            if one.json is False or (one.json == "if any" and (is_empty(value) or value == 0)):
                continue
            if one.json == "flat":
                record |= to_json(value) or {}
            else:
                if callable(one.json):
                    value = one.json(value)
                record[one.key or one.name] = to_json(value)
        return record

    def __repr__(self) -> str:
        """Return the class name and as many non-empty values as fit into `MAX_REPR` characters."""
        text = f"{type(self).__name__}("
        for one in list_members(type(self)):
            value = None if one.json is False else getattr(self, one.name)
            if is_empty(value):
                continue
            part = ", " * (text[-1] != "(") + f"{one.name}={shorten(value)}"
            if len(text) + len(part) > MAX_REPR - len(", …)"):
                return f"{text}, …)"
            text += part
        return f"{text})"

    def _repr_html_(self) -> str:
        """Return the class's own sentences and the tables as HTML for notebooks."""
        own = [] if type(self).sentences is Result.sentences else self.sentences()
        return report.render_fragment([*([report.Text(own)] if own else []), *make_tables(self)])

    def to_frame(self) -> Any:
        """Return the result as a pandas DataFrame.

        A result with several measurements, such as the cues of an audit or the pairs of a
        comparison, has one row per measurement. Other results have one row. Columns are named like
        the keys of `record()`, with dots between nested keys ("accuracy.value").

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return require("pandas", "pandas").json_normalize(list(_iter_frame_rows(self)))

    def sentences(self) -> list[str]:
        """Return sentences that state the numbers and the conditions of the measurement."""
        cells = next((one.rows for one in make_tables(self) if len(one.columns) == 2), [])
        signature = getattr(self, "signature", None)
        numbers = "; ".join(f"{head} {cell}" for head, cell in cells if head != "signature")
        stated = f"{type(self).__name__}: {numbers}."
        return [stated, f"Conditions: {signature}."] if signature else [stated]

    def summary(self) -> str:
        """Return a paragraph for a paper: the numbers, their conditions, and the citation.

        The conditions are the data's digest, the number of items, the null, the seed and the
        version, if the result has them. The text is plain and may contain names from the data.
        Escape it for your output format.
        """
        return " ".join([*self.sentences(), CITATION])

    def charts(self) -> list[report.Svg]:
        """Return the charts of the result, or an empty list if it has only tables."""
        return []

    def save_charts(self, path: str | Path) -> list[Path]:
        """Write the charts as files, and return their paths.

        Args:
            path: path of the file with the extension .svg, .png (300 dots per inch) or .pdf. If
                there are several charts, a number is added to the name: "cues-2.pdf".

        Raises:
            InputError: the result has no chart, or the extension is not supported.

        >>> Result().save_charts("fit.png")
        Traceback (most recent call last):
        winosmith.errors.InputError: Result has no chart; for its numbers, use `to_frame` or `_repr_html_`
        """  # noqa: E501
        drawn, path = self.charts(), Path(path)
        if not drawn:
            raise InputError(
                f"{type(self).__name__} has no chart; for its numbers, use `to_frame` or "
                "`_repr_html_`"
            )
        names = [path, *(path.with_stem(f"{path.stem}-{at}") for at in range(2, len(drawn) + 1))]
        for one, name in zip(drawn, names, strict=True):
            one.save(name)
        return names


def _iter_frame_rows(result: Any) -> Iterator[dict[str, Any]]:
    one = next((one for one in list_members(type(result)) if one.rows), None)
    if not isinstance(result, Result) or one is None:
        yield to_json(result)
        return
    value = getattr(result, one.name)
    value = one.json(value) if callable(one.json) else value
    if isinstance(value, Result):
        yield from _iter_frame_rows(value)
    elif isinstance(value, Mapping):
        key = (one.key or one.name).removesuffix("s")
        yield from ({key: name} | row for name, of in value.items() for row in _iter_frame_rows(of))
    else:
        yield from (row for of in value for row in _iter_frame_rows(of))


def is_empty(value: Any) -> bool:
    return value is None or (hasattr(value, "__len__") and not len(value))


def _has_own_str(value: Any) -> bool:
    return "__str__" in vars(type(value)) and not isinstance(value, str)


def to_json(value: Any) -> Any:
    if hasattr(value, "record"):
        return value.record()
    if is_dataclass(value):
        return {of.name: to_json(getattr(value, of.name)) for of in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(of) for key, of in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(of) for of in value]
    return value


def shorten(value: Any, limit: int = 60) -> str:
    """Return a value as a short text, such as "<4 values>".

    >>> shorten(1 / 3), shorten([1, 2, 3, 4]), shorten({"a": 1}), shorten("a" * 99, limit=5)
    ('0.3333', '<4 values>', '<1 value>', "'aaa…")
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, tuple) and len(value) < 4 and all(map(_is_scalar, value)):
        text = f"({', '.join(shorten(of, limit // 3) for of in value)}{',' * (len(value) == 1)})"
    elif hasattr(value, "__len__") and not isinstance(value, str | Result):
        text = f"<{len(value)} value{'s' * (len(value) != 1)}>"
    else:
        text = " ".join((str if _has_own_str(value) else repr)(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _is_number(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_number, value))
    return (isinstance(value, Real) and not isinstance(value, bool)) or _has_own_str(value)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | Real)


def _to_cell(value: Any) -> Any:
    if isinstance(value, Mapping) and all(map(_is_scalar, value.values())):
        return ", ".join(f"{key}: {report.format_value(of)}" for key, of in value.items())
    if isinstance(value, list | tuple) and len(value) < 5 and all(map(_is_scalar, value)):
        return ", ".join(map(report.format_value, value))
    return value if _is_scalar(value) else shorten(value).strip("<>")


def make_table(
    caption: str,
    rows: Mapping[str, Any] | Sequence[Any],
    names: Sequence[str] = (),
    *,
    head: str = "",
    **more: Any,
) -> report.Table:
    """Return a table of results of one type, with one row per result.

    If `rows` is a mapping, the first column contains its keys, under the heading `head`. The other
    columns show the attributes in `names`, with dots for nested results ("agreement.kappa"); by
    default, the attributes with a heading, or all if none has a heading.
    """
    results = list(rows.values()) if isinstance(rows, Mapping) else list(rows)
    members = list_members(type(results[0])) if results else ()
    every = [one for one in members if one.json is not False]
    names = names or [one.name for one in every if one.columns] or [one.name for one in every]
    columns, cells = [report.Column(head)], [[name] for name in rows]
    for name in names:
        before, _, last = name.rpartition(".")
        owners = [_get_nested(result, before) for result in results]
        kind = next((type(owner) for owner in owners if owner is not None), None)
        members = list_members(kind) if kind else ()
        if one := next((one for one in members if one.name == last), None):
            values = [_get_nested(owner, last) for owner in owners]
            numeric = any(map(_is_number, values))
            columns += one.make_columns(numeric=numeric)
            for row, value in zip(cells, values, strict=True):
                row += one.format_cells(value)
    first = 0 if isinstance(rows, Mapping) else 1
    return report.Table(caption, columns[first:], [row[first:] for row in cells], **more)


def _get_nested(result: Any, name: str) -> Any:
    for part in filter(None, name.split(".")):
        result = None if result is None else getattr(result, part)
    return result


def make_tables(
    result: Any, caption: str = "", names: Sequence[str] = ()
) -> Iterator[report.Table]:
    """Yield a table of a result's single values, and a table for each nested result.

    `names` lists the shown values in their order; by default, all are shown.
    """
    rows: list[list[report.Value]] = []
    later: list[report.Table] = []
    members = {one.name: one for one in list_members(type(result))}
    for one in [members[name] for name in names or members]:
        value = None if one.json is False else getattr(result, one.name)
        if is_empty(value):
            continue
        heads, has_form = one.make_columns(), bool(one.columns and one.columns[0][1])
        if nested := [] if has_form else list(_iter_nested_tables(value, heads[0].title)):
            later += nested
        else:
            cells = zip(heads, one.format_cells(value), strict=True)
            rows += [[head.title, report.format_value(cell, head.form)] for head, cell in cells]
    if rows:
        yield report.Table(caption or type(result).__name__, ["", ""], rows)
    yield from later


def _iter_nested_tables(value: Any, title: str) -> Iterator[report.Table]:
    if isinstance(value, Result) and not _has_own_str(value):
        yield from make_tables(value, title)
    if not isinstance(value, Mapping | tuple | list):
        return
    by_name = value if isinstance(value, Mapping) else dict(enumerate(value, 1))
    every = by_name.values()
    if all(
        isinstance(of, Result) and any(m.columns for m in list_members(type(of))) for of in every
    ):
        yield make_table(title, value)
    elif all(isinstance(of, Result | Mapping) for of in every):
        for name, of in by_name.items():
            yield from _iter_nested_tables(of, f"{title}: {name}")
