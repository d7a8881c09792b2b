"""EvoGrad (2024, appendix A.1): a table of index, sentence, option1, option2, answer, distance.

A row with distance 0 is an original. The rows up to the next original are the family of the
original; their `distance` is the declared depth ("equivalent to the token edit distance"). A row
before the first original has no root; the row's distance is stored in `extra`. The id is the index
if no index occurs twice. If the index restarts with each family, the id is "family-index" (both
from 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from winosmith import data
from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format, Row
from winosmith.lineage import DISTANCE
from winosmith.problem import Extra, Lineage, Problem

_COLUMNS = ("index", "sentence", "option1", "option2", "answer", "distance")


def is_evograd(rows: Rows) -> bool:
    return set(rows.names) - {"", "Unnamed: 0"} == set(_COLUMNS)  # with pandas' row numbers


def _parse_problem(row: Row, position: int) -> Problem:
    problem = Problem(
        id=row["id"],
        sentence=row["sentence"],
        options=(row["option1"], row["option2"]),
        answer=_base.parse_option_number(row["answer"].strip(), 2),
    )
    text, root = row["distance"].strip(), row["root"]
    if not (text.isascii() and text.isdecimal()):
        raise ProblemError(f"the distance is {text!r}; it must be a whole number from 0")
    distance = int(text)
    if distance == 0:
        return problem
    if not root:
        return replace(problem, extra=Extra({DISTANCE: distance}))
    return replace(problem, lineage=Lineage(root, root, declared=distance))


def _assign_families(rows: Rows) -> Iterator[data.Row[Row]]:
    """Add `id` and `root` fields to each row; `root` is "" before the first original.

    Raises:
        FormatError: the rows were sorted or shuffled, so their roots are unknown.
    """
    table = list(_base.read_cells(rows, _COLUMNS))
    indices = [row.values["index"] for row in table if row.values]
    restarts = len({*indices}) < len(indices)
    family, root, last = -1, "", -1
    for row in table:
        if row.values:
            is_original = row.values["distance"].strip() == "0"
            number = int(text) if (text := row.values["index"]).isdecimal() else last + 1
            if number < last and not (restarts and is_original):
                raise row.place.make_error(
                    f"the index {number} follows {last}: the rows were sorted or shuffled, so the "
                    "original of each perturbed problem is unknown; sort them by the index"
                )
            last = number
            family += is_original
            index = row.values["index"]
            row_id = f"{max(family, 0)}-{index}" if restarts else index
            root = row_id if is_original else root
            row = row._replace(values={**row.values, "id": row_id, "root": root})
        yield row


EVOGRAD = Format(
    name="evograd",
    title="EvoGrad's table, with declared distances",
    read=lambda rows: _base.build_entries(_assign_families(rows), _parse_problem),
    needs=frozenset(_COLUMNS),
    sign=is_evograd,
)
