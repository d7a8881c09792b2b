"""EvoGrad (2024, appendix A.1): the table index, sentence, option1, option2, answer, distance.

A row with distance 0 is an original. The rows after it, up to the next original, are its family,
and `distance` is the depth that the file declares ("equivalent to the token edit distance"). A row
before any original has no root; its distance is kept in `extra`. The index is the id when no index
occurs twice; when it restarts with each family, the id is "family-index", both from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Row
from winosmith.lineage import DISTANCE
from winosmith.problem import Extra, Lineage, Problem

_COLUMNS = ("index", "sentence", "option1", "option2", "answer", "distance")


def is_evograd(rows: Rows) -> bool:
    """Return whether rows have EvoGrad's names and no others."""
    return set(rows.names) == set(_COLUMNS)


def _problem(row: Row, problem_id: str, root: str | None) -> Problem:
    problem = Problem(
        id=problem_id,
        sentence=row["sentence"],
        options=(row["option1"], row["option2"]),
        answer=_base.option_number(row["answer"].strip(), 2),
    )
    distance = _distance(row)
    if distance == 0:
        return problem
    if root is None:
        return replace(problem, extra=Extra({DISTANCE: distance}))
    return replace(problem, lineage=Lineage(root, root, declared=distance))


def _distance(row: Row) -> int:
    text = row["distance"].strip()
    if not (text.isascii() and text.isdecimal()):
        raise ProblemError(f"the distance is {text!r}; it must be a whole number from 0")
    return int(text)


def _read(rows: Rows) -> Iterator[Entry]:
    table = list(_base.cells(rows, _COLUMNS))
    indices = [row["index"] for _, _, row, _ in table if row]
    restarts = len(set(indices)) < len(indices)
    family, root = -1, None
    for place, raw, row, reason in table:
        if row is None:
            yield Entry(place, raw, reason=reason)
            continue
        if row["distance"].strip() == "0":
            family, root = family + 1, _id(row, max(family + 1, 0), restarts)
        problem_id = _id(row, max(family, 0), restarts)
        yield _base.entry(place, raw, lambda: _problem(row, problem_id, root))  # noqa: B023 - called here


def _id(row: Row, family: int, restarts: bool) -> str:
    return f"{family}-{row['index']}" if restarts else row["index"]


EVOGRAD = Format(
    name="evograd",
    title="EvoGrad's table, with declared distances",
    recognises=is_evograd,
    needs=frozenset(_COLUMNS),
    read=_read,
)
