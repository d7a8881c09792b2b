"""Errata: keys of published items that people corrected or confirmed.

An errata file is a table in any container that `data.read` accepts, with these columns:

==========  ==================================================================================
`id`        id of the item
`old`       the item's key in the data: the text of the option, or its letter (A for the first);
            a value that could be either is read as text
`new`       the correct key, in the same notation; the same as `old` if people confirmed the key
`evidence`  the reason, such as a source, or the number of judges who agree
==========  ==================================================================================

Additional columns are ignored.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from winosmith import data
from winosmith.data import Place, Readable, Row
from winosmith.errors import DataError, FormatError, InputError
from winosmith.formats._answers import interpret_answer
from winosmith.formats._letters import LETTER_KINDS
from winosmith.outputs import guard_cell
from winosmith.problem import Problem

_COLUMNS = ("id", "old", "new", "evidence")


@dataclass(frozen=True, slots=True)
class Erratum:
    """An item's key after it was checked.

    Attributes:
        id: id of the item.
        old: 0-based index of the option that is the key in the data.
        new: 0-based index of the correct option; equal to `old` if the key was confirmed.
        evidence: the reason, such as a source.
    """

    id: str
    old: int
    new: int
    evidence: str


def read_errata(source: Readable, problems: Iterable[Problem]) -> tuple[Erratum, ...]:
    """Read an errata file and check it against the data.

    Args:
        source: the file, or a table in memory.
        problems: all items that the errata may name, with their keys.

    Raises:
        FormatError: a column is missing, there are no rows, or a row is wrong. A row is wrong if
            the id is unknown, the id occurs twice in the errata or the data, `old` is not the
            item's key, `new` is not the text or letter of exactly one option, or there is no
            evidence. The message has the file and the line.

    >>> quiz = [Problem("q1", "What barks? _", ("a cat", "a dog"), 0)]
    >>> table = [{"id": "q1", "old": "A", "new": "a dog", "evidence": "a dictionary"}]
    >>> read_errata(table, quiz)
    (Erratum(id='q1', old=0, new=1, evidence='a dictionary'),)
    """
    rows = data.read(source)
    if missing := [name for name in _COLUMNS if name not in rows.names]:
        raise FormatError(
            f"errata need the columns {', '.join(_COLUMNS)}; {missing[0]!r} is missing", rows.path
        )
    items: dict[str, list[Problem]] = {}
    for problem in problems:
        items.setdefault(problem.id, []).append(problem)
    found: dict[str, tuple[Place, Erratum]] = {}
    for row in rows:
        try:
            erratum = _read_row(row, items)
            if erratum.id in found:
                raise DataError(f"{erratum.id!r} already has an erratum ({found[erratum.id][0]})")
        except InputError as error:
            raise row.place.make_error(str(error)) from None
        found[erratum.id] = row.place, erratum
    if not found:
        raise FormatError("there are no errata", rows.path)
    return tuple(erratum for _, erratum in found.values())


def _read_row(row: Row[data.Record], items: Mapping[str, Sequence[Problem]]) -> Erratum:
    if row.values is None:
        raise DataError(str(row.reason))
    name, old, new, evidence = (data.format_cell(row.values.get(n, "")).strip() for n in _COLUMNS)
    if len(matches := items.get(name, ())) != 1:
        where = "no item has this id" if not matches else f"{len(matches)} items have this id"
        raise DataError(f"the erratum for {name!r} can't be applied: {where}")
    problem = matches[0]
    if problem.answer is None:
        raise DataError(f"the erratum for {name!r} can't be applied: the item has no key")
    key = _find_option(old, problem)
    if key != problem.answer:
        raise DataError(
            f"the key of {name!r} is {problem.options[problem.answer]!r} in the data, not "
            f"{problem.options[key]!r}: are the errata for a different version of the data?"
        )
    if not evidence:
        raise DataError(f"the erratum for {name!r} has no evidence; state a source or a reason")
    found = Erratum(name, key, _find_option(new, problem), evidence)
    apply_errata([problem], [found])
    return found


def _find_option(value: str, problem: Problem) -> int:
    readings = interpret_answer(value, problem.options)
    for kind in ("text", *LETTER_KINDS):
        if kind in readings:
            return readings[kind]
    raise DataError(
        f"{value!r} is not an option of {problem.id!r}; write an option's letter (A for the first "
        "one) or text"
    )


def apply_errata(problems: Iterable[Problem], errata: Iterable[Erratum]) -> list[Problem]:
    """Return all problems, with corrected keys for those that have errata.

    Raises:
        ProblemError: two options have the text of the new key.
    """
    new = {erratum.id: erratum.new for erratum in errata}
    return [
        replace(problem, answer=new[problem.id]) if problem.id in new else problem
        for problem in problems
    ]


def write_errata(
    errata: Iterable[Erratum], options: Mapping[str, Sequence[str]], file: IO[str]
) -> None:
    """Write errata as CSV, with option texts as keys, so that the options' order doesn't matter.

    Args:
        errata: the errata.
        options: the option texts of each item, by item id.
        file: the file to write to.
    """
    table = csv.writer(file, lineterminator="\n")
    table.writerow(_COLUMNS)
    for one in errata:
        texts = options[one.id]
        table.writerow(map(guard_cell, (one.id, texts[one.old], texts[one.new], one.evidence)))
