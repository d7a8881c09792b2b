"""EvoGrad (2024, appendix A.1): the table index, sentence, option1, option2, answer, distance.

A row with distance 0 is an original. The rows after it, up to the next original, are its family,
and `distance` is the depth that the file declares ("equivalent to the token edit distance"). A row
before any original has no root; its distance is kept in `extra`. The index is the id when no index
occurs twice; when it restarts with each family, the id is "family-index", both from 0.

What is written declares the depth of each problem, or its token edit distance to its root when
it declares none; where the root is not there, the distance that `extra` holds. The id goes into the
index. Each original is followed by its family, whatever the order of the problems, since nothing
else in the file tells whose family a row is of; those without their root come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO

from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Item, Row, Source
from winosmith.lineage import DISTANCE, MEASURED
from winosmith.problem import Extra, Lineage, Problem
from winosmith.text import edit_distance, tokens

_COLUMNS = ("index", "sentence", "option1", "option2", "answer", "distance")


def is_evograd(source: Source) -> bool:
    """Tell whether the first line names EvoGrad's columns and no others."""
    return any(set(header) == set(_COLUMNS) for header in source.headers.values())


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


def _read(source: Source) -> Iterator[Entry]:
    table = list(_base.rows(source, _COLUMNS))
    indices = [row["index"] for _, _, row, _ in table if row]
    restarts = len(set(indices)) < len(indices)
    family, root = -1, None
    for line, raw, row, reason in table:
        if row is None:
            yield Entry(line, raw, reason=reason)
            continue
        if row["distance"].strip() == "0":
            family, root = family + 1, _id(row, max(family + 1, 0), restarts)
        problem_id = _id(row, max(family, 0), restarts)
        yield _base.entry(line, raw, lambda: _problem(row, problem_id, root))  # noqa: B023 - called here


def _id(row: Row, family: int, restarts: bool) -> str:
    return f"{family}-{row['index']}" if restarts else row["index"]


def _write(items: Sequence[Item], file: IO[str]) -> None:
    problems = list(_base.problems_of(items, options=2))
    known = {problem.id: problem for problem in problems}
    cells = []
    for problem in _by_family(problems):
        answer = "" if problem.answer is None else problem.answer + 1
        depth = _depth(problem, known)
        cells.append([problem.id, problem.sentence, *problem.options, answer, depth])
    _base.write_rows(file, _COLUMNS, cells)


def _by_family(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yield what has no original here, then each original with its family."""
    families: dict[str, list[Problem]] = {
        problem.id: [problem]
        for problem in problems
        if problem.lineage is None and not problem.extra.get(DISTANCE)
    }
    for problem in problems:
        if problem.id in families:
            continue
        if problem.lineage is not None and problem.root in families:
            families[problem.root].append(problem)
        else:
            yield problem
    for family in families.values():
        yield from family


def _depth(problem: Problem, known: Mapping[str, Problem]) -> int:
    """Return the depth to declare: 0 for a root, and for it alone."""
    lineage = problem.lineage
    if lineage is None:
        distance = problem.extra.get(DISTANCE, 0)
        return distance if isinstance(distance, int) else 0
    depth = lineage.declared
    if depth is None and lineage.root in known:
        root = known[lineage.root]
        depth = edit_distance(tokens(root.sentence), tokens(problem.sentence))
    if depth is None:
        distance = problem.extra.get(DISTANCE, problem.extra.get(MEASURED["edit"]))
        depth = distance if isinstance(distance, int) else None
    if not depth:
        raise _base.cannot_write(
            problem, "it declares no depth of 1 or more, and its root is not here"
        )
    return depth


EVOGRAD = Format(
    name="evograd",
    title="EvoGrad's table, with declared distances",
    recognises=is_evograd,
    needs=frozenset(_COLUMNS),
    read=_read,
    write=_write,
    suffix=".csv",
    keeps=frozenset({"id", "sentence", "options", "answer"}),
)
